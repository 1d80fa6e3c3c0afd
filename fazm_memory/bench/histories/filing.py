"""Desktop filing: folders, naming conventions, files that were left alone."""

TEXT = """
== invoices (filing)
@ 2026-11-14 16:00 f1 fazm /Users/dana/Downloads
ask File the invoices in Downloads by date
seen /Users/dana/Downloads: invoice_acme_20261102.pdf | invoice_globex_20261105.pdf |
    invoice_hooli_20261109.pdf | invoice_umbrella_20261111.pdf | notes.txt
mv /Users/dana/Downloads: invoice_acme_20261102.pdf -> 2026-11-02-acme.pdf
mv /Users/dana/Downloads: invoice_globex_20261105.pdf -> 2026-11-05-globex.pdf
mv /Users/dana/Downloads: invoice_hooli_20261109.pdf -> 2026-11-09-hooli.pdf
decide the date comes first // then folders sort by time // vendor first
todo umb: the Umbrella invoice needs a purchase order
noise 60
close
? which folders | folders invoices | /Users/dana/Downloads
? what convention | naming convention of the invoices | 2026-11-02-acme.pdf
? what was skipped | skipped files invoices | notes.txt
? why | why date first | folders sort by time
? what is open | open umbrella invoice | needs a purchase order
== photos (filing)
@ 2026-11-14 10:00 p1 fazm /Users/kim/Pictures
ask Rename the camera photos by day and place
noise 20
seen /Users/kim/Pictures/Camera: IMG_20261101_001.jpg | IMG_20261102_002.jpg | IMG_20261103_003.jpg |
    clip.mov | IMG_20261104_004.jpg
mv /Users/kim/Pictures/Camera: IMG_20261101_001.jpg -> 2026-11-01 lisbon.jpg
mv /Users/kim/Pictures/Camera: IMG_20261102_002.jpg -> 2026-11-02 lisbon.jpg
mv /Users/kim/Pictures/Camera: IMG_20261103_003.jpg -> 2026-11-03 lisbon.jpg
decide keep spaces in the names // Photos shows them better // underscores
note Three photos are renamed; IMG_20261104_004.jpg is unreadable and the video is left for later.
noise 30
? which folders | which folders photos | /Users/kim/Pictures/Camera
? what convention | naming convention photos | 2026-11-01 lisbon.jpg
? what was skipped | skipped photos video | clip.mov
? why | why spaces in the names | Photos shows them better
== receipts-two-days (filing)
@ 2026-11-13 09:00 r1 fazm /Users/lee/Receipts
ask Sort receipts into folders by shop
mv /Users/lee/Receipts: r-0012 rewe.pdf -> /Users/lee/Receipts/rewe/0012.pdf
mv /Users/lee/Receipts: r-0013 rewe.pdf -> /Users/lee/Receipts/rewe/0013.pdf
mv /Users/lee/Receipts: r-0014 ikea.pdf -> /Users/lee/Receipts/ikea/0014.pdf
decide one folder per shop // the tax advisor asks by shop
close
@ 2026-11-14 18:00 r2 fazm /Users/lee/Receipts
ask Go on with the receipts
mv /Users/lee/Receipts: r-0015 aldi.pdf -> /Users/lee/Receipts/aldi/0015.pdf
bad Bash: mv 'r-0016 ?.pdf' shops/ => No such file or directory
todo q16: find out which shop receipt 0016 is from
noise 40
? which folders | which folders receipts aldi | /Users/lee/Receipts/aldi
? what failed | failed receipt move | No such file or directory
? what is open | open receipt 0016 | which shop receipt 0016 is from
? why | why one folder per shop | tax advisor asks by shop
== music (filing)
@ 2026-11-14 20:00 m1 fazm /Users/ana/Music/Inbox
ask Clean up the music inbox: artist, dash, title
seen /Users/ana/Music/Inbox: 01 Nina Simone Sinnerman.mp3 | 02 Nina Simone Feeling Good.mp3 | cover.jpg |
    03 Nina Simone Baltimore.mp3
mv /Users/ana/Music/Inbox: 01 Nina Simone Sinnerman.mp3 -> Nina Simone - Sinnerman.mp3
mv /Users/ana/Music/Inbox: 02 Nina Simone Feeling Good.mp3 -> Nina Simone - Feeling Good.mp3
mv /Users/ana/Music/Inbox: 03 Nina Simone Baltimore.mp3 -> Nina Simone - Baltimore.mp3
decide drop the track numbers // the player sorts by its own tags // keep them at the end
own music.format = Artist - Title
noise 25
? which folders | folders music | /Users/ana/Music/Inbox
? what convention | music naming convention | Nina Simone - Sinnerman.mp3
? what was skipped | skipped music files | cover.jpg
? why | why drop track numbers | player sorts by its own tags
? what convention | music format preference | Artist - Title
== screenshots (filing)
@ 2026-11-14 11:30 sc fazm /Users/jo/Desktop
ask Move old screenshots off the Desktop
seen /Users/jo/Desktop: Screenshot 2026-10-01 at 09.00.00.png | Screenshot 2026-10-02 at 10.00.00.png |
    todo.md
mv /Users/jo/Desktop: Screenshot 2026-10-01 at 09.00.00.png -> /Users/jo/Pictures/Screens/2026-10-01.png
mv /Users/jo/Desktop: Screenshot 2026-10-02 at 10.00.00.png -> /Users/jo/Pictures/Screens/2026-10-02.png
bad Bash: rm todo.md => refused by the user
decide leave todo.md where it is // the user wants it in sight
person modified /Users/jo/Desktop/todo.md
noise 15
? which folders | where did the screenshots go folders | /Users/jo/Pictures/Screens
? what failed | failed rm todo | refused by the user
? what changed since | changed by person todo | /Users/jo/Desktop/todo.md
? why | why leave todo.md | wants it in sight
== contracts (filing)
@ 2026-11-12 14:00 c1 fazm /Users/max/Contracts
ask Put contracts into year folders
mv /Users/max/Contracts: lease-2024.pdf -> /Users/max/Contracts/2024/lease.pdf
mv /Users/max/Contracts: phone-2025.pdf -> /Users/max/Contracts/2025/phone.pdf
decide signing year, not end year // the scanner prints that one // end year
todo sig: two contracts lack a signature page
hand May I delete the unsigned drafts?
noise 50
? which folders | which folders contracts | /Users/max/Contracts/2024
? why | why signing year | scanner prints that one
? what is open | open contracts signature | lack a signature page
? what is open | question for the user drafts | May I delete the unsigned drafts?
== books (filing)
@ 2026-11-14 08:00 b1 fazm /Users/eva/Books
ask Name e-books author_title
seen /Users/eva/Books: Title of Dune by Frank Herbert.epub | Title of Emma by Jane Austen.epub | Title of
    Ubik by Philip Dick.epub | scan.pdf | scan2.pdf
mv /Users/eva/Books: Title of Dune by Frank Herbert.epub -> Frank Herbert_Dune.epub
mv /Users/eva/Books: Title of Emma by Jane Austen.epub -> Jane Austen_Emma.epub
mv /Users/eva/Books: Title of Ubik by Philip Dick.epub -> Philip Dick_Ubik.epub
fact isbn-source = Open Library
bad WebFetch: https://openlibrary.org/isbn/9780 => HTTP 503
noise 35
? what convention | naming convention for e-books | Frank Herbert_Dune.epub
? what was skipped | skipped books scans | scan.pdf
? what failed | failed openlibrary | HTTP 503
? which folders | folder of the books | /Users/eva/Books
== taxes (filing)
@ 2026-11-14 19:00 t1 fazm /Users/dana/Tax
ask Collect everything for the 2025 tax return
do Write created /Users/dana/Tax/2025/checklist.md
mv /Users/dana/Tax: payslip-jan.pdf -> /Users/dana/Tax/2025/payslips/01.pdf
mv /Users/dana/Tax: payslip-feb.pdf -> /Users/dana/Tax/2025/payslips/02.pdf
decide number months with two digits // ten would sort before two
todo march: the March payslip is missing
todo bank: ask the bank for the interest statement
noise 45
pause
? which folders | folders tax payslips | /Users/dana/Tax/2025/payslips
? what is open | missing payslip open | March payslip is missing
? what is open | bank statement todo | interest statement
? why | why two digits months | ten would sort before two
== scans (filing)
@ 2026-11-14 13:00 s1 fazm /Volumes/NAS/Scans
ask Rename scans: letter sender and date
seen /Volumes/NAS/Scans: scan-telekom-03.11.2026.pdf | scan-stadtwerke-04.11.2026.pdf |
    scan-aok-05.11.2026.pdf | .DS_Store | draft-aok.pdf
mv /Volumes/NAS/Scans: scan-telekom-03.11.2026.pdf -> 2026-11-03 telekom.pdf
mv /Volumes/NAS/Scans: scan-stadtwerke-04.11.2026.pdf -> 2026-11-04 stadtwerke.pdf
mv /Volumes/NAS/Scans: scan-aok-05.11.2026.pdf -> 2026-11-05 aok.pdf
bad Bash: ocrmypdf 2026-11-05-aok.pdf => ocrmypdf: command not found
ok Bash: pip install ocrmypdf => installed
noise 20
? what convention | scans naming convention | 2026-11-03 telekom.pdf
? what was skipped | skipped scans draft | draft-aok.pdf
? what failed | failed ocr | ocrmypdf: command not found
? which folders | folder of scans | /Volumes/NAS/Scans
== old-week (filing)
@ 2026-11-03 15:00 w1 fazm /Users/tom/Inbox
ask Empty the inbox folder into the archive
mv /Users/tom/Inbox: a1.eml -> /Users/tom/Archive/mail/a1.eml
mv /Users/tom/Inbox: a2.eml -> /Users/tom/Archive/mail/a2.eml
decide the archive keeps mail apart from paper // the search index reads only mail/
todo att: attachments of a2 are not saved yet
noise 80
close
? which folders | which folders archive mail | /Users/tom/Archive/mail
? why | why archive mail apart | search index reads only mail/
? what is open | open attachments | attachments of a2 are not saved yet
== family-videos (filing)
@ 2026-11-14 21:00 v1 fazm /Users/kim/Movies
ask Rename family videos
seen /Users/kim/Movies: VID001_2025-07-01.mp4 | VID002_2025-07-02.mp4 | VID003_2025-07-03.mp4 | export.fcpx
mv /Users/kim/Movies: VID001_2025-07-01.mp4 -> 2025-07-01_family.mp4
mv /Users/kim/Movies: VID002_2025-07-02.mp4 -> 2025-07-02_family.mp4
mv /Users/kim/Movies: VID003_2025-07-03.mp4 -> 2025-07-03_family.mp4
unknown deleted /Users/kim/Movies/export.fcpx
noise 30
? what convention | videos naming convention | 2025-07-01_family.mp4
? what changed since | deleted changed unknown export | /Users/kim/Movies/export.fcpx
? which folders | folder videos | /Users/kim/Movies
"""
