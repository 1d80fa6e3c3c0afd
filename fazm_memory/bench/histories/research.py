"""Research: sources, findings kept as facts, decisions, questions left open."""

TEXT = """
== heat-pumps (research)
@ 2026-11-14 10:00 h1 fazm /Users/dana/House
ask Compare heat pumps for a house from 1974
ok WebSearch: heat pump old house radiators => ten results
ok WebFetch: https://energy.example/heatpumps => flow temperature 55 degrees is the limit
bad WebFetch: https://test.example/report => paywall: subscription needed
fact flow.temperature = 52 degrees measured in January
decide air-water instead of ground // no drilling permit in the water protection area // ground source
do Write created /Users/dana/House/heatpump-notes.md
todo grant: check whether the BAFA grant covers radiators
noise 40
? which sources | heat pump source page | https://energy.example/heatpumps
? why | why air-water | no drilling permit
? what failed | report fetch failed | subscription needed
? what is open | grant radiators open | BAFA grant covers radiators
== visa (research)
@ 2026-11-13 20:00 v1 fazm /Users/lee/Travel
ask What do I need for a work visa in Japan?
ok WebFetch: https://mofa.example/visa/work => certificate of eligibility
fact visa.duration = processing takes 5 working days
decide apply in Munich // Frankfurt has no appointments before January // Frankfurt
todo photo: a photo of 45 by 35 mm is missing
noise 30
close
? why | why apply in Munich | no appointments before January
? what | visa processing duration | 5 working days
? what is open | photo missing open | 45 by 35 mm
== papers (research)
@ 2026-11-14 09:00 r1 claude-code /Users/eva/thesis
ask Collect papers on memory of language agents
ok WebSearch: agent memory benchmark recall => 14 results
do Write created /Users/eva/thesis/reading/2026-memory.bib
do Edit modified /Users/eva/thesis/reading/overview.md
decide only papers with code // claims without code could not be checked // all papers
fact papers.count = 23 kept of 61
bad WebFetch: https://arxiv.example/abs/2611.01234 => HTTP 429 too many requests
noise 60
? which folders | reading folder papers | /Users/eva/thesis/reading
? why | why only papers with code | could not be checked
? what | how many papers count kept | 23 kept of 61
? what failed | arxiv failed | HTTP 429 too many requests
== laptops (research)
@ 2026-11-14 19:30 l1 fazm /Users/ana
ask Find a quiet laptop under 1400 euros
ok WebFetch: https://shop.example/x14 => 1,299 euros
ok WebFetch: https://noise.example/x14 => 28 dB under load
decide the X14 // the only one below 30 dB under load // the Z5, the M7
hand Do you need an Ethernet port?
noise 25
? which sources | noise page laptop | https://noise.example/x14
? why | why the X14 | only one below 30 dB under load
? what is open | question ethernet | Do you need an Ethernet port?
== competitors (research)
@ 2026-11-12 11:00 c1 fazm /Users/max/Market
ask Who else sells session recorders?
do Write created /Users/max/Market/competitors.csv
fact competitors.found = seven, two of them open source
decide leave out browser extensions // they record pages, not work
todo price: prices of three vendors are only on request
noise 50
? which files | competitors table | /Users/max/Market/competitors.csv
? what | how many competitors found | seven, two of them open source
? why | why leave out browser extensions | record pages, not work
? what is open | open prices vendors | only on request
== recipes (research)
@ 2026-11-14 17:00 q1 fazm /Users/kim/Kitchen
ask Plan dinners for a week without gluten
ok WebFetch: https://cook.example/polenta => polenta with mushrooms
do Write created /Users/kim/Kitchen/week-47.md
decide fish on Friday only // the market is on Thursday evening
own diet = no gluten, no peanuts
noise 20
? what | diet preference | no gluten, no peanuts
? why | why fish on Friday | market is on Thursday evening
? which files | week plan file | /Users/kim/Kitchen/week-47.md
== legal (research)
@ 2026-11-10 15:00 g1 fazm /Users/tom/Lease
ask Can the landlord raise the rent twice a year?
ok WebFetch: https://law.example/558 => once within fifteen months
fact rent.law = section 558, fifteen months between raises
decide object in writing // a call proves nothing // phone call
todo letter: send the objection before 30 November
noise 30
pause
? what | law about rent raises | section 558
? why | why object in writing | a call proves nothing
? what is open | objection letter open | before 30 November
== weather-data (research)
@ 2026-11-14 13:00 w1 codex /Users/jo/weather
ask Get daily rain for Hamburg since 1950
ok Bash: wget ftp.example/rain.zip => saved
bad Bash: unzip rain.zip => End-of-central-directory signature not found
ok Bash: wget -c ftp.example/rain.zip => saved
ok Bash: unzip -o rain.zip => inflating: hamburg.txt
do apply_patch created /Users/jo/weather/clean.py
decide missing days stay empty // zero would look like a dry day // fill with zero
noise 45
? which files | clean script | /Users/jo/weather/clean.py
? what failed | unzip failed | End-of-central-directory signature not found
? why | why missing days empty | zero would look like a dry day
== interviews (research)
@ 2026-11-14 14:00 i1 fazm /Users/dana/Interviews
ask Summarise the five user interviews
do Read read /Users/dana/Interviews/03-marta.txt
do Write created /Users/dana/Interviews/summary.md
fact interviews.theme = four of five lost work after a restart
decide quote people by number // they were promised anonymity // first names
bad Read: /Users/dana/Interviews/05.m4a => unsupported file type
todo five: interview 5 must be transcribed first
noise 30
? what | interviews theme | four of five lost work after a restart
? why | why quote by number | promised anonymity
? what failed | interview read failed | unsupported file type
? what is open | interview 5 open | must be transcribed first
== garden (research)
@ 2026-11-08 16:00 ga fazm /Users/lee/Garden
ask Which trees for a dry slope?
decide downy oak // roots hold the slope and it needs no water // birch
fact soil.ph = 7.8
noise 20
close
@ 2026-11-14 16:00 gb fazm /Users/lee/Garden
ask Where can I buy the oaks?
ok WebFetch: https://nursery.example/oak => 34 euros each
todo order: order three oaks before the frost
noise 20
? why | why downy oak | roots hold the slope
? what | soil ph | 7.8
? what is open | order oaks open | three oaks before the frost
? which sources | nursery oak page | https://nursery.example/oak
"""
