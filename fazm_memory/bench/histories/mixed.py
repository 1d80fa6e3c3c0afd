"""Mixed days: interrupted, parallel, compacted, with other hands in the same folder."""

TEXT = """
== killed-midway (interrupted)
@ 2026-11-14 16:00 x1 claude-code /Users/dana/site
ask Build and deploy the site
do Edit modified /Users/dana/site/config.toml
ok Bash: hugo => 214 pages
start Bash: rsync -a public/ web:/var/www
noise 0
? what is open | rsync deploy never finished | rsync -a public/ web:/var/www
? which files | config modified site | /Users/dana/site/config.toml
== power-cut (interrupted)
@ 2026-11-14 22:00 x2 fazm /Users/kim/Backup
ask Copy the photo archive to the new disk
decide copy by year // a broken run can go on at the year // all at once
do Bash created /Volumes/New/2024/index.txt
noise 30
start Bash: rsync -a Photos/2025 /Volumes/New/
? what is open | copy that never finished | rsync -a Photos/2025 /Volumes/New/
? why | why copy by year | broken run can go on at the year
? which folders | folder on the new disk | /Volumes/New/2024
== paused-report (interrupted)
@ 2026-11-13 17:00 x3 codex /Users/lee/report
ask Write the quarterly report
do apply_patch created /Users/lee/report/q3.md
todo fig: figure 2 needs the October numbers
decide three pages at most // the board reads on the phone
pause
@ 2026-11-14 08:00 other fazm /Users/lee/report
ask Put the October numbers into a table
do Write created /Users/lee/report/october.csv
close
? what is open | figure open | figure 2 needs the October numbers
? why | why three pages | board reads on the phone
? what changed since | october numbers table created | /Users/lee/report/october.csv
== user-stopped (interrupted)
@ 2026-11-14 15:00 x4 claude-code /srv/etl
ask Delete rows older than 2019
bad Bash: psql -c 'delete from logs where year < 2019' => interrupted by the user
decide delete in batches of 10000 // one statement locked the table // one statement
todo batch: batches after id 40000 are not deleted yet
noise 25
? what failed | delete failed | interrupted by the user
? why | why batches | one statement locked the table
? what is open | open batches | batches after id 40000
== two-at-once (parallel)
@ 2026-11-14 10:00 pa claude-code /Users/eva/app
ask Translate the interface to Polish
do Write created /Users/eva/app/locale/pl.json
decide formal address // banks write formally // informal
@ 2026-11-14 10:01 pb codex /Users/eva/app
ask Speed up the start screen
do apply_patch modified /Users/eva/app/src/start.ts
bad Bash: npm run perf => start took 2.9 s, budget 1 s
todo lazy: load the charts lazily
noise 40
? which files | polish locale file | /Users/eva/app/locale/pl.json
? which files | start screen file | /Users/eva/app/src/start.ts
? why | why formal address | banks write formally
? what failed | perf failed | start took 2.9 s
? what is open | open charts | load the charts lazily
== three-folders (parallel)
@ 2026-11-14 09:00 ta fazm /Users/max
ask Tidy Documents
mv /Users/max/Documents: letter.docx -> /Users/max/Documents/Letters/letter.docx
decide letters by person // that is how he looks for them
@ 2026-11-14 09:05 tb fazm /Users/max
ask Tidy Downloads
mv /Users/max/Downloads: setup.dmg -> /Users/max/Downloads/Installers/setup.dmg
todo dmg: ask before deleting installers
@ 2026-11-14 09:10 tc fazm /Users/max
ask Tidy Desktop
bad Bash: mv ~/Desktop/talk.key ~/Talks => Permission denied
noise 30
? which folders | folder of letters | /Users/max/Documents/Letters
? which folders | folder of installers | /Users/max/Downloads/Installers
? why | why letters by person | how he looks for them
? what failed | move talk failed | Permission denied
? what is open | installers open | ask before deleting installers
== same-folder-two-agents (parallel)
@ 2026-11-14 13:00 sa claude-code /srv/shop
ask Add a discount field
do Edit modified /srv/shop/models.py
decide discounts are whole percents // the till rounds anyway
@ 2026-11-14 13:02 sb gemini /srv/shop
ask Document the models
do write_file created /srv/shop/docs/models.md
person modified /srv/shop/models.py
noise 30
? which files | models documentation | /srv/shop/docs/models.md
? what changed since | models changed by person | /srv/shop/models.py
? why | why whole percents | till rounds anyway
== long-compacted (compacted)
@ 2026-11-14 08:00 ca claude-code /Users/ana/compiler
ask Implement pattern matching
decide compile to decision trees // backtracking was exponential on nested lists // backtracking automata
fact grammar.file = grammar/match.ebnf
do Write created /Users/ana/compiler/src/match/tree.rs
noise 120
evict grammar/match.ebnf | src/match/tree.rs | test output of 09:14
ask Go on with guards
bad Bash: cargo test guards => thread panicked: guard evaluated twice
todo guards: guards with side effects run twice
noise 80
? why | why decision trees | backtracking was exponential on nested lists
? what failed | guards test failed | guard evaluated twice
? what is open | guards open | guards with side effects run twice
? what was evicted | evicted keys | grammar/match.ebnf
? which files | tree file created | /Users/ana/compiler/src/match/tree.rs
== twice-compacted (compacted)
@ 2026-11-14 07:30 cb claude-code /Users/jo/novel
ask Check the timeline of the novel
fact timeline.error = chapter 7 has two Tuesdays
noise 90
evict chapter-1.md | chapter-2.md
decide Marta arrives on Sunday // the train scene needs a holiday
noise 90
evict chapter-7.md | notes on trains
todo ch9: chapter 9 still says Marta came on Monday
noise 60
? what | timeline error | chapter 7 has two Tuesdays
? why | why Marta arrives on Sunday | train scene needs a holiday
? what is open | chapter 9 open | still says Marta came on Monday
? what was evicted | evicted notes | notes on trains
== mixed-day (mixed)
@ 2026-11-14 09:00 ma fazm /Users/dana
ask Answer the mail from the tax office
do Write created /Users/dana/Letters/taxoffice.md
decide ask for two more weeks // the bank statement comes on the 25th
@ 2026-11-14 11:00 mb claude-code /Users/dana/code/cal
ask The calendar export drops all-day events
do Edit modified /Users/dana/code/cal/export.py
ok Bash: pytest -q => 31 passed
@ 2026-11-14 15:00 mc fazm /Users/dana
ask Find the cheapest train to Vienna on 2 December
ok WebFetch: https://rail.example/vienna => 29.90 at 06:12
fact train.choice = 06:12 for 29.90
todo seat: reserve a window seat
noise 40
? which files | letter to the tax office | /Users/dana/Letters/taxoffice.md
? which files | calendar export file | /Users/dana/code/cal/export.py
? why | why two more weeks | bank statement comes on the 25th
? what | train to vienna choice | 06:12 for 29.90
? what is open | seat open | reserve a window seat
== morning-after (mixed)
@ 2026-11-14 18:00 na claude-code /Users/kim/shopfront
ask Add Apple Pay
do Edit modified /Users/kim/shopfront/checkout.ts
todo cert: the merchant certificate expires on 1 December
@ 2026-11-15 08:00 nb claude-code /Users/kim/shopfront
ask Why is the checkout button grey?
bad Bash: npm test checkout => Timeout: button never enabled
decide enable after the payment sheet loads // it was greyed by the old flag
noise 35
? which files | checkout file | /Users/kim/shopfront/checkout.ts
? what failed | checkout test failed | button never enabled
? why | why button enable after sheet | greyed by the old flag
? what is open | certificate open | merchant certificate expires on 1 December
== handed-over (mixed)
@ 2026-11-14 12:00 oa fazm /Users/tom/Club
ask Invite the members to the winter party
do Write created /Users/tom/Club/invitation.md
hand Which date: 5 or 12 December?
decide print the invitations // half of the members have no mail
person created /Users/tom/Club/addresses-new.csv
noise 30
pause
? what is open | question date party | Which date: 5 or 12 December?
? why | why print the invitations | half of the members have no mail
? what changed since | new addresses person | /Users/tom/Club/addresses-new.csv
== many-sessions (mixed)
@ 2026-11-05 10:00 z0 claude-code /Users/lee/lib
ask Set up the linter
decide ruff with the default rules // one tool instead of four
close
@ 2026-11-06 10:00 z1 claude-code /Users/lee/lib
ask Type the client
do Edit modified /Users/lee/lib/client.py
noise 20
close
@ 2026-11-10 10:00 z2 claude-code /Users/lee/lib
ask Write the retry logic
decide at most four tries // the server bans after five
do Edit modified /Users/lee/lib/retry.py
noise 20
close
@ 2026-11-13 10:00 z3 claude-code /Users/lee/lib
ask Add logging
todo pii: mask mail addresses in the log
noise 20
@ 2026-11-14 10:00 z4 claude-code /Users/lee/lib
ask Publish the docs
bad Bash: mkdocs gh-deploy => fatal: could not read Username
noise 40
? why | why ruff | one tool instead of four
? why | why four tries | server bans after five
? what is open | open logging mail addresses | mask mail addresses in the log
? what failed | mkdocs failed | could not read Username
"""
