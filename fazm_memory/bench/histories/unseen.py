"""Days written down before it was known how they would be answered for, and asked about as people ask.

The first ten were written by somebody who had not seen the code; what they missed was mended. The last five
were written after that, and nothing was changed for them.
"""

TEXT = """
== scanned-letters (filing)
@ 2026-11-14 14:00 u1 fazm /Users/ruth/Scans
ask Please sort the scanned letters into Letters, one folder per sender, and name them by date
seen /Users/ruth/Scans: scan_0101_aok_2026-09-03.pdf | scan_0102_aok_2026-10-07.pdf |
    scan_0103_stadtwerke_2026-10-12.pdf | scan_0104_stadtwerke_2026-11-02.pdf |
    scan_0105_blank.pdf | index.xlsx
mv /Users/ruth/Scans: scan_0101_aok_2026-09-03.pdf -> /Users/ruth/Letters/aok/2026-09-03.pdf
mv /Users/ruth/Scans: scan_0102_aok_2026-10-07.pdf -> /Users/ruth/Letters/aok/2026-10-07.pdf
mv /Users/ruth/Scans: scan_0103_stadtwerke_2026-10-12.pdf -> /Users/ruth/Letters/stadtwerke/2026-10-12.pdf
noise 35
bad Bash: mv scan_0104_stadtwerke_2026-11-02.pdf /Users/ruth/Letters/stadtwerke/
    => Resource busy, open in Preview
decide the blank scan stays in Scans // Ruth wants to scan that page again // delete it
todo busy: move scan 0104 once Preview has let go of it
noise 25
close
? which folders | where did the insurance letters from AOK end up | /Users/ruth/Letters/aok
? what convention | how are the scanned letters named | 2026-09-03.pdf
? what was skipped | which scans were not filed | scan_0105_blank.pdf
? why | why was the blank page left in Scans | wants to scan that page again
? what failed | what went wrong moving the stadtwerke letter | Resource busy
? what is open | what is left to do with scan 0104 | Preview has let go of it
== recipe-cards (filing)
@ 2026-11-12 18:30 u2 fazm /Users/omar/Recipes
ask Rename my recipe notes: cuisine first, then the dish, all lower case with dashes
seen /Users/omar/Recipes: Lentil Soup (Turkish).md | Shakshuka (Israeli).md | Ramen (Japanese).md |
    Tiramisu (Italian).md | shopping list.txt
mv /Users/omar/Recipes: Lentil Soup (Turkish).md -> turkish-lentil-soup.md
mv /Users/omar/Recipes: Shakshuka (Israeli).md -> israeli-shakshuka.md
own recipes.language = keep the dish names in English
noise 18
pause
@ 2026-11-14 19:00 u2b fazm /Users/omar/Recipes
ask Carry on with the recipes
mv /Users/omar/Recipes: Ramen (Japanese).md -> japanese-ramen.md
decide do not touch the shopping list // it is synced with the phone
todo tira: Tiramisu exists twice, ask which one is right
person created /Users/omar/Recipes/pumpkin curry.md
noise 30
? what convention | what do renamed recipes look like | turkish-lentil-soup.md
? what convention | dish names language preference | keep the dish names in English
? why | why did we not touch the shopping list | synced with the phone
? what is open | tiramisu question | exists twice, ask which one is right
? what changed since | which recipe did Omar add himself | /Users/omar/Recipes/pumpkin curry.md
== websocket-leak (coding)
@ 2026-11-14 10:15 u3 claude-code /home/noor/chat
ask The gateway leaks memory when clients drop. Find the leak and fix it.
ok Bash: node --inspect gateway.js => heap grows 4 MB a minute
do Read read /home/noor/chat/src/gateway.ts
noise 40
bad Bash: npm test -- reconnect => Expected 0 listeners, received 37
do Edit modified /home/noor/chat/src/listeners.ts
ok Bash: npm test -- reconnect => 12 passing
decide remove listeners in the close handler // a finalizer ran minutes too late //
    FinalizationRegistry, a sweep every minute
fact gateway.heartbeat = 25 seconds, the proxy cuts at 30
todo soak: overnight soak test with 5000 clients
noise 45
? which files | which file fixed the gateway memory leak | /home/noor/chat/src/listeners.ts
? what failed | how did the reconnect test fail at first | received 37
? why | why not use a finalizer for the listeners | ran minutes too late
? what | how often is the heartbeat and why | the proxy cuts at 30
? what is open | is there still a test to run for the leak | overnight soak test with 5000 clients
== pdf-export (coding)
@ 2026-11-11 09:40 u4 codex /srv/invoicing
ask Export invoices as PDF/A
decide use weasyprint // it embeds the fonts, wkhtmltopdf does not // wkhtmltopdf, LaTeX
do apply_patch created /srv/invoicing/export/pdfa.py
noise 25
close
@ 2026-11-14 09:40 u4b codex /srv/invoicing
ask The umlauts are missing in the exported PDFs
bad Bash: python -m export.pdfa sample => UserWarning: font Inter has no glyph U+00FC
ok Bash: fc-list => Inter, DejaVu Sans
do apply_patch modified /srv/invoicing/export/fonts.css
do apply_patch modified /srv/invoicing/export/pdfa.py
ok Bash: python -m export.pdfa sample => written sample.pdf
todo valid: validate the files with veraPDF before release
noise 30
? why | why weasyprint and not wkhtmltopdf | it embeds the fonts
? what failed | missing umlauts error | no glyph U+00FC
? which files | what was changed for the umlauts | /srv/invoicing/export/fonts.css
? what is open | what must happen before the pdf release | validate the files with veraPDF
== heat-pump (research)
@ 2026-11-13 20:10 u5 fazm /Users/ines/House
ask Compare heat pumps for a house of 1974 with radiators
ok WebSearch: heat pump radiators 55 degrees COP => 12 results
ok WebFetch: https://pumps.example/r290 => R290 units reach 70 degrees, COP 2.9 at -7
fact pump.refrigerant = R290, because it still reaches 70 degrees
bad WebFetch: https://grants.example/kfw-458 => 403 Forbidden
do Write created /Users/ines/House/heat-pumps.md
noise 22
pause
@ 2026-11-14 20:30 u5b fazm /Users/ines/House
ask Which of them are quiet enough for the neighbours?
ok WebFetch: https://noise.example/ta-laerm => 35 dB(A) at night in residential areas
decide only units below 50 dB sound power // the bedroom next door is four metres away // an enclosure
todo plumber: ask the plumber about the flow temperature on the coldest day
noise 20
? what | which refrigerant for the heat pump and why | still reaches 70 degrees
? what failed | which grant page could not be opened | 403 Forbidden
? which files | where are the notes about heat pumps | /Users/ines/House/heat-pumps.md
? why | why only quiet units | bedroom next door is four metres away
? what is open | what should the plumber be asked | flow temperature on the coldest day
== citations (research)
@ 2026-11-14 13:20 u6 claude-code /Users/yuki/thesis
ask Check that every citation in chapter 3 exists
ok Bash: grep -c cite chapter3.tex => 48
bad WebFetch: https://doi.example/10.1000/182 => 404 DOI not found
fact citation.broken = Okafor 2019 has the wrong DOI
do Edit modified /Users/yuki/thesis/refs.bib
decide cite the preprint of Lindqvist // the journal version retracted table 2
hand Should the two theses by Brandt be merged into one entry?
noise 50
? what | which citation has a wrong DOI | Okafor 2019
? what failed | which link was dead | 404 DOI not found
? which files | bibliography file changed | /Users/yuki/thesis/refs.bib
? why | why cite the Lindqvist preprint | journal version retracted table 2
? what is open | question about the Brandt theses | merged into one entry
== broken-upgrade (interrupted)
@ 2026-11-14 21:10 u7 claude-code /srv/wiki
ask Upgrade the wiki from 1.39 to 1.43
ok Bash: mysqldump wiki => 412 MB
decide dump to the second disk first // the last upgrade ate the images table
do Bash created /mnt/second/wiki-2026-11-14.sql
do Edit modified /srv/wiki/LocalSettings.php
noise 15
start Bash: php maintenance/run.php update
? what is open | did the wiki upgrade finish | php maintenance/run.php update
? why | why a dump before the upgrade | ate the images table
? which files | where is the dump of the wiki | /mnt/second/wiki-2026-11-14.sql
? which files | which settings were edited for the wiki | /srv/wiki/LocalSettings.php
== garden-and-game (parallel)
@ 2026-11-14 11:00 u8 codex /Users/theo/game
ask Add a save slot menu
do apply_patch created /Users/theo/game/scenes/save_menu.tscn
decide three slots // the console build has room for no more
@ 2026-11-14 11:03 u8b claude-code /Users/theo/game
ask The jump feels late on gamepads
do Edit modified /Users/theo/game/player/jump.gd
bad Bash: godot --headless --run-tests => coyote_time: expected 6 frames, got 9
todo coyote: measure the jump on a 60 Hz television
@ 2026-11-14 11:06 u8c fazm /Users/theo/Garden
ask When do the tulips go in?
fact tulips.when = before the first frost, end of November
noise 35
? which files | save slot menu scene | /Users/theo/game/scenes/save_menu.tscn
? why | why only three save slots | console build has room for no more
? what failed | gamepad jump test result | expected 6 frames, got 9
? what is open | what is to be measured about the jump | 60 Hz television
== long-audit (compacted)
@ 2026-11-14 07:00 u9 claude-code /Users/samira/ledger
ask Reconcile the ledger with the bank for 2025
fact ledger.gap = 1,204.50 missing in March
do Write created /Users/samira/ledger/reconcile.py
decide match by amount and week // the bank books weekends on Monday // match by reference
noise 110
evict bank-2025-03.csv | ledger-2025-03.csv
ask Now the second half of the year
bad Bash: python reconcile.py --from 2025-07 => KeyError: 'valuta'
do Edit modified /Users/samira/ledger/columns.py
noise 70
evict reconcile.py | the list of weekends
todo dup: two rent payments in September look like one
noise 60
? what | how much was missing in the ledger and when | 1,204.50 missing in March
? why | why are bookings matched by week | bank books weekends on Monday
? what failed | error in the second half of the year | KeyError: 'valuta'
? what is open | what about the rent in September | look like one
? what was evicted | what fell out of the context in the audit | the list of weekends
? which files | which file was changed after the valuta error | /Users/samira/ledger/columns.py
== moving-house (mixed)
@ 2026-11-10 17:00 ua fazm /Users/paul/Move
ask Make a list of everybody who needs our new address
do Write created /Users/paul/Move/addresses.md
decide the bank first // it sends the card for the rent by post
close
@ 2026-11-13 17:00 ub fazm /Users/paul/Move
ask Cancel the old internet contract
bad WebFetch: https://telco.example/cancel => the form needs the customer number
todo telco: find the customer number on an old bill
close
@ 2026-11-14 17:00 uc fazm /Users/paul/Move
ask Draft the letter to the landlord about the deposit
do Write created /Users/paul/Move/deposit-letter.md
own letters.tone = friendly but with a deadline
person modified /Users/paul/Move/addresses.md
noise 30
? why | who gets the new address first and why | sends the card for the rent by post
? what failed | why could the internet contract not be cancelled | the form needs the customer number
? what is open | what do we still need for the cancellation | customer number on an old bill
? which files | letter to the landlord about the deposit | /Users/paul/Move/deposit-letter.md
? what changed since | what did Paul edit himself for the move | /Users/paul/Move/addresses.md
? what convention | how should letters sound | friendly but with a deadline
== vinyl-shelf (filing)
@ 2026-11-14 15:10 v1 fazm /Users/gus/Audio
ask Put the vinyl rips into albums, year in front
seen /Users/gus/Audio: Kind of Blue 1959.flac | Blue Train 1958.flac | Mingus Ah Um 1959.flac | hum.wav
mv /Users/gus/Audio: Kind of Blue 1959.flac -> 1959 Kind of Blue.flac
mv /Users/gus/Audio: Blue Train 1958.flac -> 1958 Blue Train.flac
mv /Users/gus/Audio: Mingus Ah Um 1959.flac -> 1959 Mingus Ah Um.flac
decide leave hum.wav out // it is the recording of an empty groove
bad Bash: metaflac --add-replay-gain *.flac => metaflac: not installed
todo tags: write the tags when metaflac is there
noise 25
? what convention | how did we name the vinyl rips | 1959 Kind of Blue.flac
? what was skipped | which audio was not renamed | hum.wav
? what failed | which program was missing for the replay gain | metaflac: not installed
? what is open | what still has to be done with the tags | write the tags when metaflac is there
? why | why is hum.wav left out | recording of an empty groove
== kiosk-app (coding)
@ 2026-11-14 12:10 v2 codex /srv/kiosk
ask The kiosk screen stays black after an update
do apply_patch modified /srv/kiosk/boot/splash.service
bad Bash: systemctl start kiosk => Failed with result exit-code: no display
do apply_patch created /srv/kiosk/boot/wait-for-display.sh
ok Bash: systemctl start kiosk => active
decide wait for the display in a script // the unit's After= is met before the panel is on
todo reboot: try it on the second kiosk
noise 50
? which files | which files were touched to get rid of the black screen | /srv/kiosk/boot/wait-for-display.sh
? what failed | why did the kiosk service not start | no display
? why | reason for the waiting script | met before the panel is on
? what is open | where must it be tried next | second kiosk
== bird-survey (research)
@ 2026-11-13 08:00 v3 fazm /Users/lena/Birds
ask Summarise this year's counts of swifts
ok WebFetch: https://birds.example/swifts-2026 => 212 pairs, 12 % fewer
fact swifts.trend = 12 percent fewer pairs than in 2025
bad WebFetch: https://weather.example/may => could not resolve host
do Write created /Users/lena/Birds/swifts.md
hand May the counts of the private gardens be published?
pause
@ 2026-11-14 10:00 v3b fazm /Users/lena/Birds
ask Make a map of the nests
do Write created /Users/lena/Birds/nests.geojson
person modified /Users/lena/Birds/swifts.md
noise 20
? what | how are the swifts doing compared with last year's count | 12 percent fewer pairs
? what failed | weather page did not load | could not resolve host
? which files | map of nests | /Users/lena/Birds/nests.geojson
? what is open | unanswered question about gardens | private gardens be published
? what changed since | which bird file did Lena edit herself | /Users/lena/Birds/swifts.md
== cluster-night (interrupted)
@ 2026-11-14 23:10 v4 claude-code /home/ivo/cluster
ask Drain node 7 and upgrade it
ok Bash: kubectl cordon node-7 => cordoned
decide drain with a grace of 600 seconds // the render jobs write for nine minutes
noise 30
start Bash: kubectl drain node-7 --grace-period=600
? what is open | was the drain of node 7 completed | kubectl drain node-7 --grace-period=600
? why | why such a long grace period | write for nine minutes
== choir-book (compacted)
@ 2026-11-14 09:15 v5 claude-code /Users/bea/choir
ask Typeset the choir book
fact choir.key = the Bruckner goes down a semitone
do Write created /Users/bea/choir/book.ly
noise 90
evict bruckner.ly | list of singers
bad Bash: lilypond book.ly => error: unterminated slur in bar 41
decide A5 landscape // the music stands are narrow
todo alto: the alto line of the Duruflé is missing
noise 90
? what | what happens to the Bruckner | goes down a semitone
? what failed | lilypond problem | unterminated slur in bar 41
? why | why landscape | music stands are narrow
? what is open | which voice is missing | alto line
? what was evicted | what did the model lose of the choir book | list of singers
"""
