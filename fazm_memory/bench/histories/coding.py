"""Coding: files, failures and what mended them, decisions with their reasons, what is open."""

TEXT = """
== parser (coding)
@ 2026-11-14 14:00 k1 claude-code /Users/dana/code/parser
ask Fix the date parser for ISO weeks
do Read read /Users/dana/code/parser/src/dates.py
do Edit modified /Users/dana/code/parser/src/dates.py
bad Bash: pytest tests/test_dates.py => AssertionError: 2026-W01 parsed as 2025-12-29
do Edit modified /Users/dana/code/parser/src/weeks.py
ok Bash: pytest tests/test_dates.py => 14 passed
decide parse weeks with fromisocalendar // it knows years with 53 weeks // own arithmetic
todo tz: weeks with a time zone are not handled
note The ISO week parser is fixed and 14 tests pass. Time zones are left open.
noise 60
? which files | modified files date parser | /Users/dana/code/parser/src/weeks.py
? what failed | failed pytest dates | 2026-W01 parsed as 2025-12-29
? why | why fromisocalendar | it knows years with 53 weeks
? what is open | open time zone weeks | weeks with a time zone are not handled
== api-timeouts (coding)
@ 2026-11-14 09:00 k2 codex /srv/api
ask Requests to /orders time out. Find out why.
ok Bash: grep -rn timeout src => src/client.py:14
bad Bash: curl -m 5 localhost:8000/orders => Operation timed out after 5001 milliseconds
decide raise the pool size to 20 // all ten connections were held by the report job // longer timeout
do apply_patch modified /srv/api/src/pool.py
do apply_patch created /srv/api/tests/test_pool.py
todo load: run the load test against staging
noise 70
? which files | files created pool test | /srv/api/tests/test_pool.py
? what failed | curl orders failed | Operation timed out after 5001 milliseconds
? why | why pool size 20 | ten connections were held by the report job
? what is open | open load test | load test against staging
== migration (coding)
@ 2026-11-13 10:00 k3 claude-code /home/lee/shop
ask Migrate the orders table to UUID keys
do Write created /home/lee/shop/migrations/0042_uuid.sql
bad Bash: psql -f migrations/0042_uuid.sql => ERROR: cannot drop constraint orders_pkey because other
    objects depend on it
decide keep the old integer column for one release // the reporting service still joins on it
todo drop: drop the integer column after release 9
pause
@ 2026-11-14 17:00 k3b claude-code /home/lee/shop
ask Write the rollback for the migration
do Write created /home/lee/shop/migrations/0042_uuid_down.sql
ok Bash: psql -f migrations/0042_uuid_down.sql => COMMIT
noise 40
? which files | rollback migration file | 0042_uuid_down.sql
? what failed | psql migration failed | cannot drop constraint orders_pkey
? why | why keep the integer column | reporting service still joins on it
? what is open | open integer column | drop the integer column after release 9
== frontend (coding)
@ 2026-11-14 15:30 k4 claude-code /Users/eva/web
ask Make the settings page work on phones
do Edit modified /Users/eva/web/src/settings.css
do Edit modified /Users/eva/web/src/Settings.tsx
do Write created /Users/eva/web/src/useBreakpoint.ts
bad Bash: npm run lint => error: React Hook useBreakpoint is called conditionally
do Edit modified /Users/eva/web/src/Settings.tsx
ok Bash: npm run lint => no problems
decide breakpoints live in one hook // the design team changes them monthly // media queries in each file
person modified /Users/eva/web/src/theme.css
noise 50
? which files | breakpoint hook file created | /Users/eva/web/src/useBreakpoint.ts
? what failed | lint failed | useBreakpoint is called conditionally
? why | why one hook for breakpoints | design team changes them monthly
? what changed since | changed by person theme | /Users/eva/web/src/theme.css
== release (coding)
@ 2026-11-14 12:00 k5 codex /work-x/lib
ask Prepare release 2.4
do apply_patch modified /work-x/lib/CHANGELOG.md
do apply_patch modified /work-x/lib/pyproject.toml
bad Bash: twine check dist/* => ERROR long_description has syntax errors in markup
ok Bash: python -m build => Successfully built lib-2.4.tar.gz
fact release.version = 2.4.0
decide release without the async client // its API is not settled
hand Shall I push the tag v2.4.0?
noise 35
? which files | release files changelog | /work-x/lib/CHANGELOG.md
? what failed | twine failed | long_description has syntax errors
? why | why without the async client | its API is not settled
? what is open | question push tag | Shall I push the tag v2.4.0?
== flaky (coding)
@ 2026-11-12 16:00 k6 claude-code /Users/max/engine
ask The scheduler test is flaky, find the reason
bad Bash: pytest -x tests/test_scheduler.py => assert 3 == 4
bad Bash: pytest -x tests/test_scheduler.py => assert 3 == 4
do Edit modified /Users/max/engine/scheduler.py
ok Bash: pytest -x tests/test_scheduler.py => 9 passed
decide use a fake clock // the test raced the real one at midnight // sleep longer
fact flaky.cause = the job started on the minute boundary
noise 90
close
? which files | scheduler file modified | /Users/max/engine/scheduler.py
? why | why a fake clock | raced the real one at midnight
? what failed | scheduler test failed | assert 3 == 4
? what | cause of the flaky test | minute boundary
== docs-site (coding)
@ 2026-11-14 10:15 k7 gemini /Users/ana/site
ask Move the docs to the new generator
do write_file created /Users/ana/site/docs/index.md
do write_file created /Users/ana/site/docs/install.md
do write_file created /Users/ana/site/zensical.toml
bad run_shell_command: make html => Makefile:3: *** missing separator
decide keep the old URLs as redirects // search engines rank them
todo img: images in the tutorial still point to the old host
noise 30
? which folders | docs folder created | /Users/ana/site/docs
? what failed | make html failed | missing separator
? why | why redirects for old URLs | search engines rank them
? what is open | open images tutorial | images in the tutorial still point to the old host
== security-fix (coding)
@ 2026-11-14 16:45 k8 claude-code /srv/auth
ask Close the session fixation hole
do Edit modified /srv/auth/login.py
do Edit modified /srv/auth/session_store.py
decide rotate the session id on login and on privilege change // an old id must not gain rights
bad Bash: make audit => 1 high: cookie without SameSite
todo audit: cookie without SameSite in the admin area
noise 55
? which files | modified session store | /srv/auth/session_store.py
? what failed | audit failed cookie | cookie without SameSite
? why | why rotate the session id | an old id must not gain rights
? what is open | open cookie admin | SameSite in the admin area
== refactor (coding)
@ 2026-11-14 11:00 k9 opencode /home/jo/game
ask Split world.rs into modules
do edit created /home/jo/game/src/world/terrain.rs
do edit created /home/jo/game/src/world/weather.rs
do edit deleted /home/jo/game/src/world.rs
bad bash: cargo build => error[E0432]: unresolved import crate::world::Chunk
ok bash: cargo check --all => Finished
decide chunks stay private // the renderer must go through World
noise 45
? which folders | folder of the world modules | /home/jo/game/src/world
? what failed | cargo build failed | unresolved import crate::world::Chunk
? why | why chunks private | renderer must go through World
== infra (coding)
@ 2026-11-11 13:00 ka codex /infra/prod
ask Bring the staging cluster to the new node image
bad Bash: terraform apply => Error: quota CPUS exceeded in europe-west3
decide two nodes at a time // the quota leaves four spare cores
do apply_patch modified /infra/prod/nodes.tf
todo quota: ask for 32 more cores in europe-west3
noise 60
pause
? which files | terraform nodes modified | /infra/prod/nodes.tf
? what failed | terraform failed quota | quota CPUS exceeded in europe-west3
? why | why two nodes at a time | quota leaves four spare cores
? what is open | open quota cores | 32 more cores
== notebooks (coding)
@ 2026-11-14 18:20 kb claude-code /Users/kim/analysis
ask Why does churn jump in October?
do NotebookEdit modified /Users/kim/analysis/churn.ipynb
ok Bash: python check.py => 412 rows duplicated in October
decide drop duplicates by customer id and day // the export ran twice on 12 October
fact churn.october = 3.1 percent after deduplication
bad Bash: python plot.py => ModuleNotFoundError: No module named seaborn
noise 40
? why | why drop duplicates | export ran twice on 12 October
? what | october churn after deduplication | 3.1 percent after deduplication
? what failed | plot failed | No module named seaborn
? which files | churn notebook | /Users/kim/analysis/churn.ipynb
"""
