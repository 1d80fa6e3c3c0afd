"""Effects compared with what bash really does to a folder.

Every command of the corpus is run in a fresh copy of a small tree. The changes of the tree are compared with
what `file_effects` returns for the command, its output and the listing of the folders before it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fazm_memory.engines.shell_effects import FileEffect, KnownFolders, file_effects

pytestmark = pytest.mark.linux("compares with GNU tools")

FILES = {
    "a.txt": "alpha\n",
    "b.txt": "beta\n",
    "notes.md": "# notes\n",
    "IMG 001.JPG": "jpg1",
    "IMG 002.JPG": "jpg2",
    "photo.jpeg": "jpg3",
    "data.csv": "id,name\n1,x\n",
    "report 2023.pdf": "pdf",
    "it's.txt": "quote\n",
    "ünï.txt": "umlaut\n",
    "draft-1.txt": "1\n",
    "draft-2.txt": "2\n",
    "draft-10.txt": "10\n",
    "2024-01-05-trip.png": "png",
    "2023-12-24-xmas.png": "png",
    "names.lst": "a.txt\nb.txt\n",
    "pairs.csv": "a.txt,first.txt\nb.txt,second.txt\n",
    ".hidden": "h\n",
    "docs/guide.md": "guide\n",
    "docs/api/ref.md": "ref\n",
    "docs/.keep": "",
    "src/main.py": "print(1)\n",
    "src/util.py": "x = 1\n",
    "logs/app.log": "log\n",
    "logs/app.1.log": "log1\n",
    "logs/old.tmp": "tmp\n",
    "My Folder/file one.txt": "one\n",
    "My Folder/file two.txt": "two\n",
}
FOLDERS = ["empty", "archive"]

CORPUS = r"""
mv a.txt renamed.txt
mv a.txt b.txt
mv a.txt docs
mv a.txt docs/
mv a.txt docs/new.txt
mv a.txt b.txt notes.md archive
mv -t archive a.txt b.txt
mv -T docs documents
mv -n a.txt b.txt
mv -n a.txt fresh.txt
mv -v a.txt b.txt archive/
mv -f a.txt b.txt
mv -b a.txt b.txt
mv docs archive
mv docs manuals
mv docs manuals/
mv "My Folder" my_folder
mv 'My Folder/file one.txt' My\ Folder/one.txt
mv "IMG 001.JPG" "IMG 002.JPG" empty/
mv *.txt archive/
mv -- *.md docs/
mv draft-?.txt archive
mv draft-[0-9].txt empty
mv {a,b}.txt archive
mv nope.txt x.txt
mv nope.txt x.txt; mv a.txt y.txt
mv a.txt nowhere/x.txt
mv a.txt nowhere/
mv a.txt x.txt && mv x.txt y.txt && mv y.txt z.txt
mv a.txt tmp && mv b.txt a.txt && mv tmp b.txt
mv it\'s.txt its.txt
mv $'it\'s.txt' "it is.txt"
mv ünï.txt uni.txt
mv .hidden visible
mv ./a.txt ./docs/../c.txt
cp a.txt copy.txt
cp a.txt b.txt
cp a.txt docs
cp a.txt b.txt docs/
cp -r docs docs2
cp -r docs archive
cp -a docs/. empty/
cp -R src/* empty
cp -t empty a.txt b.txt
cp -n a.txt b.txt
cp docs x
cp -v a.txt copy.txt
cp a.txt{,.bak}
cp nope.txt x.txt
cp -p a.txt saved.txt && rm a.txt
cp -r docs/api/ api
rm a.txt
rm a.txt b.txt nope.txt
rm -f nope.txt
rm -f a.txt nope.txt
rm -rf docs
rm -r docs/api
rm docs
rm *.txt
rm -v draft-*.txt
rm -rf nope docs/api logs/*.log
rm -rf ./empty ./archive
rm logs/*.tmp logs/*.nomatch
rm -- .hidden
rm nope 2>/dev/null
rm nope 2>/dev/null || touch a-mark
rmdir empty
rmdir docs
rmdir empty archive
mkdir new
mkdir new && mv a.txt new
mkdir -p deep/er/est
mkdir -p docs/api/v2 empty
mkdir empty
mkdir x y z
mkdir no/such
mkdir -pv one/two
mkdir -p out/{css,js,img}
touch new.txt
touch a.txt new.txt
touch -c new.txt
touch docs/x.md nowhere/y.md
touch f{1..3}.log
ln -s a.txt link
ln -s ../a.txt docs/link
ln -sf b.txt link && ln -sf a.txt link
ln a.txt hard
ln -s a.txt b.txt
ln -s docs shortcut
install -m 644 a.txt inst.txt
install -d lib/x lib/y
install -D a.txt deep/er/a.txt
echo hi > new.txt
echo hi > a.txt
echo hi >> a.txt
echo hi >> new.txt
echo hi >| a.txt
echo hi &> new.txt
ls nope 2> err.txt
ls nope > out.txt 2>&1
: > a.txt
> fresh.txt
cat a.txt b.txt > both.txt
cat < a.txt > copy.txt
sort names.lst -o sorted.lst
sort a.txt > nowhere/x.txt
echo x | tee one.txt two.txt
echo x | tee -a a.txt > /dev/null
sed -i 's/alpha/omega/' a.txt
sed -i.bak 's/alpha/omega/' a.txt
sed -i -e 's/a/b/' a.txt b.txt
sed -Ei 's/(a)/\1\1/' a.txt
sed -i 's/x/y/' nope.txt
sed 's/alpha/omega/' a.txt > a2.txt
sed -n '1p' a.txt
perl -pi -e 's/alpha/omega/' a.txt
perl -i.orig -pe 's/alpha/omega/' a.txt b.txt
truncate -s 0 a.txt
truncate -s 10 new.bin
cd docs && mv guide.md GUIDE.md
cd docs; rm guide.md; cd ..; rm a.txt
(cd docs && rm guide.md) && rm a.txt
cd nowhere && rm a.txt
cd nowhere || exit 1; rm a.txt
cd nowhere; rm a.txt
pushd docs > /dev/null; touch here; popd > /dev/null; touch there
cd docs && cd api && touch x && cd - > /dev/null && touch y
for f in a.txt b.txt; do mv "$f" "${f%.txt}.text"; done
for f in *.txt; do mv "$f" "${f%.txt}.md"; done
for f in *.JPG; do mv "$f" "$(echo "$f" | tr ' ' '_' | tr 'A-Z' 'a-z')"; done
for f in *.JPG; do mv "$f" "${f// /_}"; done
for f in *.JPG; do n=${f,,}; mv "$f" "${n// /-}"; done
for f in *.png; do d=${f:0:4}; mkdir -p "$d"; mv "$f" "$d/${f#????-??-??-}"; done
for f in *.png; do y=$(echo "$f" | cut -d- -f1); mkdir -p "pics/$y" && mv "$f" "pics/$y/"; done
for f in draft-*.txt; do n=${f#draft-}; n=${n%.txt}; mv "$f" "$(printf 'draft-%03d.txt' "$n")"; done
i=1; for f in *.JPG; do mv "$f" "photo_$i.jpg"; i=$((i+1)); done
i=0; for f in draft-1.txt draft-2.txt; do ((i++)); mv "$f" "d$i"; done
for i in {1..3}; do echo $i > n$i.txt; done
for i in $(seq 1 3); do touch "s$i"; done
for ((i=0;i<3;i++)); do mkdir "dir$i"; done
for f in nomatch-*.txt; do [ -e "$f" ] || continue; rm "$f"; done
for f in *.txt; do [[ $f == draft-* ]] && rm "$f"; done; true
for f in *.txt; do if [[ $f =~ ^draft-([0-9]+)\.txt$ ]]; then mv "$f" "v${BASH_REMATCH[1]}.txt"; fi; done
for f in *; do [ -f "$f" ] && cp "$f" archive/; done; true
for f in *; do if [ -d "$f" ]; then touch "$f/seen"; fi; done
for d in */; do touch "$d/mark"; done
for f in *.md docs/*.md; do mv "$f" "$(dirname "$f")/$(basename "$f" .md).markdown"; done
for f in a.txt b.txt; do for s in 1 2; do cp "$f" "$f.$s"; done; done
for f in a.txt nope.txt b.txt; do mv "$f" archive/ || break; done
while read -r f; do rm "$f"; done < names.lst
while read -r f; do rm "$f"; done <<< "a.txt"
while IFS=, read -r old new; do mv "$old" "$new"; done < pairs.csv
printf 'a.txt\nb.txt\n' | while read -r f; do mv "$f" "old-$f"; done
ls *.txt | while read -r f; do mv "$f" archive/; done
n=3; while [ $n -gt 0 ]; do touch "t$n"; n=$((n-1)); done
n=0; until [ $n -ge 2 ]; do touch "u$n"; ((n+=1)); done
while true; do touch once; break; done
if [ -f a.txt ]; then mv a.txt found.txt; else touch missing.txt; fi
if [ -d nope ]; then rm -rf docs; elif [ -f b.txt ]; then rm b.txt; fi
if grep -q alpha a.txt; then rm a.txt; fi
if grep -q nothing a.txt; then rm a.txt; else rm b.txt; fi
[ -f a.txt ] && rm a.txt
[ -f nope ] && rm a.txt; true
[ ! -e nope ] && touch nope
test -d docs && mv docs documentation
[[ -f a.txt && -f b.txt ]] && rm a.txt b.txt
grep -q alpha a.txt && mv a.txt has-alpha.txt
grep -q alpha b.txt && mv b.txt has-alpha.txt; true
case a.txt in *.txt) mv a.txt text.txt;; *) rm a.txt;; esac
for f in a.txt b.md c.jpeg; do case "$f" in *.txt|*.md) mv "$f" docs/;; *.jpeg) rm "$f";; esac; done; true
for f in *.txt *.jpeg; do case "$f" in *.txt) mv "$f" docs/;; *) mv "$f" archive/;; esac; done
false || touch after-false
true && touch after-true || touch not-this
mv nope x || mv a.txt x
rm a.txt & wait
bash -c 'mv a.txt b2.txt'
bash -lc "cd docs && touch x.md"
sh -c 'for f in *.md; do mv "$f" "$f.old"; done'
bash -c 'mv "$1" "$2"' _ a.txt moved.txt
env X=1 mv a.txt env.txt
X=renamed.txt; mv a.txt "$X"
src=a.txt dst=docs; mv "$src" "$dst/$src"
nice -n 5 mv a.txt nice.txt
time mv a.txt timed.txt
nohup mv a.txt nohup.txt
command rm a.txt
eval 'mv a.txt "evaluated.txt"'
timeout 5 mv a.txt t.txt
f() { mv "$1" "$1.bak"; }; f a.txt; f b.txt
f() { local n="${1%.*}"; mv "$1" "$n.${2:-bak}"; }; f a.txt; f b.txt md
files=(a.txt b.txt); for f in "${files[@]}"; do rm "$f"; done
files=(*.JPG); mv "${files[@]}" archive/
files=(*.txt); echo "${#files[@]}" > "count-${#files[@]}"
declare -A m=([a.txt]=x.txt [b.txt]=y.txt); for k in "${!m[@]}"; do mv "$k" "${m[$k]}"; done
shopt -s nullglob; for f in *.nomatch; do rm "$f"; done; touch done
shopt -s globstar; for f in **/*.md; do mv "$f" "$f.bak"; done
shopt -s extglob; rm !(a|b).txt
set -e; mv a.txt x.txt; false; rm b.txt
set -- a.txt b.txt; for f; do mv "$f" "arg-$f"; done
set -- a.txt b.txt; mv "$1" "$2.old"; shift; rm "$1"
find . -name '*.log' -delete
find . -type f -name '*.md' -exec rm {} +
find docs -name '*.md' -exec mv {} {}.bak \;
find . -maxdepth 1 -name '*.txt' -exec mv -t archive {} +
find . -type d -name api -exec rm -rf {} +
find logs -type f ! -name '*.tmp' -delete
find . -name '*.txt' -newer nope -delete
find . \( -name '*.JPG' -o -name '*.jpeg' \) -exec mv {} archive/ \;
find . -name '*.md' -print0 | xargs -0 rm
find . -name '*.log' | xargs -I{} mv {} archive/
find docs -name '*.md' | while read -r f; do mv "$f" "${f%.md}.txt"; done
find . -maxdepth 1 -type f -name 'draft*' -exec bash -c 'mv "$1" "${1/draft/final}"' _ {} \;
ls *.txt | xargs rm
ls | grep '^draft' | xargs -I% mv % archive/
echo a.txt b.txt | xargs -n1 rm
printf '%s\n' a.txt b.txt | xargs -I{} cp {} docs/{}.copy
cat names.lst | xargs rm
tar czf out.tgz docs src
tar cf out.tar docs && rm -r docs
tar cf t.tar docs && mkdir x && tar xvf t.tar -C x
tar cf t.tar a.txt b.txt && rm a.txt b.txt && tar xvf t.tar
zip -q out.zip a.txt b.txt
zip -qr out.zip docs && unzip -o out.zip -d unpacked
gzip a.txt
gzip -k a.txt
gzip a.txt && gunzip a.txt.gz
gzip -c a.txt > a.gz
xz b.txt
cat a.txt; head -1 b.txt; wc -l data.csv
diff a.txt b.txt
cp "$HOME/nope" .
mv "$UNSET_NAME.txt" x
rm "$(cat names.lst | head -1)"
rm $(cat names.lst)
name="My Folder"; rm -r "$name"
name="My Folder"; rm -r $name
x=a.txt; rm ${x}; rm ${y:-b.txt}
mv a.txt "$(date +%Y)-a.txt"
mv -v a.txt "$(date +%Y)-a.txt"
mv a.txt "${PWD##*/}.txt"
cp a.txt "$PWD/docs/"
echo '#!/bin/bash' > run.sh; echo 'rm a.txt' >> run.sh; bash run.sh
python3 -c "open('made.txt','w').write('x')"
{ echo one; echo two; } > grouped.txt
(echo one; echo two) >> a.txt
mv a.txt x.txt; rm -f x.txt; touch x.txt
mkdir d; cd d; touch f; cd ..; mv d e; rm e/f
mkdir -p s && cp a.txt s/ && mv s/a.txt s/b.txt && rm a.txt
cp -r docs d2 && rm d2/guide.md && mv d2/api d2/API
mv docs/guide.md . && rmdir docs/api; ls
trap 'rm -f tmp.lock' EXIT; touch tmp.lock; mv a.txt z.txt
mv a.txt x.txt # mv b.txt y.txt
echo "mv a.txt b.txt"
echo mv a.txt b.txt > cmds.txt
mv a.txt 'b$x.txt'
mv a.txt "with \"quotes\".txt"
touch -- -dash; rm -- -dash
touch 'star*'; rm 'star*'
rm [ab].txt
rm [!d]*.txt
mv a.txt b.txt c.txt
chmod +x a.txt; chmod 600 b.txt
git mv a.txt moved.txt
git mv a.txt b.txt docs/
git mv docs documents && git status --short
git mv nope.txt x.txt
git rm -q a.txt
git rm a.txt b.txt
git rm --cached -q a.txt
git rm -rq docs
git rm -q docs/api/ref.md
echo x > a.txt; git checkout -- a.txt
rm a.txt && git restore a.txt
git -C docs mv guide.md handbook.md
git add -A && git commit -qm x && mv a.txt later.txt
git stash -q; mv a.txt after-stash.txt
cd docs && for f in *.md; do cp "$f" "${f%.md}.bak.md" && echo "backed up $f"; done && ls
mkdir backup && cp -p *.txt backup/ && tar -czf backup.tar.gz backup && rm -rf backup
mv a.txt{,.old} && echo new > a.txt && diff a.txt a.txt.old > changes.diff; cat changes.diff
rename() { mv "$1" "$2" && echo "$1 -> $2"; }; rename a.txt alpha.txt; rename b.txt beta.txt
mv "report 2023.pdf" "report-2023.pdf"; mv 'IMG 001.JPG' IMG_001.jpg; mv IMG\ 002.JPG IMG_002.jpg
for f in IMG*; do ext="${f##*.}"; name="${f%.*}"; mv "$f" "${name// /_}.${ext,,}"; done
ls | while read f; do if [[ "$f" == *" "* ]]; then mv "$f" "${f// /_}"; fi; done
touch x1 x2 x3; rm x{1,3}; mv x2 only
mkdir -p a/b/c && touch a/b/c/f && mv a/b/c/f a/ && rmdir a/b/c a/b
cat names.lst | while read n; do test -f "$n" && echo "have $n"; done > report.out
(cd src && mv main.py app.py && sed -i 's/1/2/' util.py) && git --version > /dev/null; touch done.flag
cp -r docs docs.bak; rm -r docs; mv docs.bak docs
mv a.txt z.txt 2>/dev/null && mv nope q 2>/dev/null; echo finished
rm -f *.tmp logs/*.tmp; find logs -empty -delete; ls logs
out="out-$(echo abc | tr a-c x-z)"; mkdir "$out" && cp a.txt "$out/" && (cd "$out" && mv a.txt b.txt)
while [ -f a.txt ]; do mv a.txt gone.txt; done
for n in 3 2 1; do for f in draft-$n.txt; do [ -e "$f" ] && mv "$f" "draft-$((n+1)).txt"; done; done; true
ln -s docs latest && ln -sfn src latest && rm latest
mv a.txt tmp.txt; mv b.txt a.txt; mv tmp.txt b.txt; cp a.txt a.copy; rm b.txt
IFS=$'\n'; for f in $(ls *.JPG); do mv "$f" "archive/$f"; done
for f in *.txt; do wc -c < "$f" > "$f.size"; done
find . -maxdepth 1 -type f -name '*.txt' -print0 | while IFS= read -r -d '' f; do cp "$f" archive/; done
find . -name '*.md' -exec sh -c 'for f; do mv "$f" "${f%.md}.markdown"; done' sh {} +
mapfile -t files < <(ls draft-*); for f in "${files[@]}"; do mv "$f" "x_$f"; done
xargs -a names.lst rm
paste -d, names.lst names.lst > pairs.tmp && mv pairs.tmp pairs.csv
awk -F, '{print $1}' pairs.csv > first.col; sort -u first.col -o first.col; head -1 first.col
tee copy1 copy2 < a.txt > /dev/null; mv copy1 c1
bash -c "cd docs; for f in *.md; do mv \"\$f\" \"\${f%.md}.txt\"; done"
printf '%s\n' "line 1" "line 2" > multi.txt; sed -i '1d' multi.txt; cat multi.txt
mv nope1 x; mv nope2 y; mv a.txt z
rm -r docs/api && mkdir docs/api && touch docs/api/.gitkeep
f=a.txt; b=${f%.*}; e=${f##*.}; n=1; while [ -e "$b-$n.$e" ]; do n=$((n+1)); done; cp "$f" "$b-$n.$e"
for f in "My Folder"/*; do mv "$f" "${f/file /item-}"; done; mv "My Folder" items
shopt -s dotglob; mkdir hid; mv .h* hid/; ls -A hid
gzip -9 data.csv && mv data.csv.gz archive/ && gunzip archive/data.csv.gz
zip -qm moved.zip a.txt b.txt && unzip -q moved.zip -d back && ls back
install -m 755 -D src/main.py bin/tool && ln -s bin/tool t
truncate -s 0 logs/*.log; > notes.md; : >| a.txt
split -l 1 names.lst part_ && rm names.lst
split -l1 pairs.csv p. ; mv p.aa first.csv
cd docs || exit; cd api || exit; mv ref.md ../reference.md; cd ../..; rmdir docs/api
pushd src >/dev/null && touch new.py && popd >/dev/null && mv src/new.py .
trap 'rm -rf scratch' EXIT; mkdir scratch; cp a.txt scratch/; cp scratch/a.txt result.txt
for i in 1 2 3; do echo "$i" > "f$i"; [ $i -eq 2 ] && break; done
case $(ls *.md | head -1) in notes.md) mv notes.md n.md;; *) rm a.txt;; esac
a=(*.png); mv "${a[0]}" first.png; mv "${a[1]}" second.png; rm "${a[@]}" 2>/dev/null; true
cp a.txt b.txt docs/ && cd docs && mv a.txt a1.txt && mv b.txt b1.txt && cd .. && ls docs
mv -v draft-* archive/ | wc -l; mv -v *.png archive/
chmod +x a.txt && ./a.txt; rm a.txt
env -i PATH="$PATH" sh -c 'mv a.txt "$(echo X | tr X Y).txt"'
eval "mv a.txt \"e v.txt\""; ls
let n=2+3; touch "n$n"; ((n>4)) && touch big; ((n<4)) && touch small; true
if ! mv nope x 2>/dev/null; then touch failed.flag; fi
mv a.txt x || { echo bad; exit 1; }; rm x && echo ok
echo a.txt | xargs -I F sh -c 'mv F F.done'
ls -1 *.txt | sed 's/\(.*\)\.txt/mv "&" "\1.bak"/' | sh
ls *.md | awk '{print "mv "$1" "$1".bak"}' | sh
for f in *.txt; do echo "Processing $f"; sed "s/a/A/" "$f" > "$f.tmp" && mv "$f.tmp" "$f"; done
ls *.txt | head -2 | xargs -I{} mv {} archive/
ls -1 | sort -r | head -1 | xargs rm -rf
cp -rv docs backup_docs | tail -1
rsync -a docs/ copy/ 2>/dev/null || cp -r docs copy
for f in $(find docs -name "*.md"); do mv $f $(dirname $f)/new_$(basename $f); done
find . -name "*.log" -type f -exec gzip {} \;
find . -type d -empty -delete
find . -name "*.txt" -size +100k -delete; rm a.txt
export DEST=archive; mv a.txt "$DEST"; mv b.txt "${DEST}/bb.txt"
DEST=${DEST:-archive}; mv a.txt "$DEST/"
readonly OUT=out; mkdir -p "$OUT"; for x in 1 2; do echo $x > "$OUT/$x.txt"; done; cat "$OUT"/*.txt > all.txt
test -f config.json && cp config.json config.json.bak || echo "{}" > config.json
[ -e a.txt ] && [ -e nope ] && rm a.txt; rm -f nope b.txt
touch -t 202001010000 stamped; cp -p stamped s2; mv s2 s3
mv docs/{guide.md,api/ref.md} .
mv docs/* . 2>/dev/null; rmdir docs 2>/dev/null; ls
rm -rf docs/api/* && rmdir docs/api && ls docs
cd "My Folder" && for f in *; do mv "$f" "$(echo $f | sed "s/ /_/g")"; done; cd ..; mv "My Folder" My_Folder
cat a.txt b.txt | sort | uniq > merged.txt && rm a.txt b.txt
n=1; for f in *.JPG; do cp "$f" "$(printf "%s_%02d.jpg" photo $n)"; let n++; done
for f in *.JPG; do base="${f%.JPG}"; num="${base##* }"; mv "$f" "photo-$((10#$num)).jpg"; done
mv a.txt "$(basename a.txt .txt)-$(wc -c < a.txt | tr -d " ").txt"
function backup { cp "$1"{,.bak}; }; backup a.txt; backup b.txt; ls *.bak
if mkdir lockdir 2>/dev/null; then mv a.txt locked.txt; rmdir lockdir; else echo busy; fi
tmp=$(mktemp) && cat a.txt > "$tmp" && mv "$tmp" c.txt
tmpdir=$(mktemp -d); cp a.txt "$tmpdir/"; mv "$tmpdir/a.txt" d.txt; rm -rf "$tmpdir"
mv a.txt b.txt -t archive
mv -- "it's.txt" "its.txt" && ls its.txt
mv "report 2023.pdf" report_2023.pdf && ln -s report_2023.pdf latest.pdf && ls -l latest.pdf
rm -i a.txt < /dev/null; echo y | rm -i b.txt
yes | cp -i a.txt b.txt
chmod -w a.txt; rm -f a.txt; echo gone > status
echo one > f; echo two >> f; sed -i "s/one/1/" f; grep -q 1 f && mv f good || mv f bad
paste names.lst names.lst | while read -r a b; do cp "$a" "copy-$b"; done
head -1 pairs.csv | while IFS=, read a b; do mv $a $b; done
x=$(ls | grep -c txt); touch "count_$x"
for p in docs src logs; do tar -cf "$p.tar" "$p" && rm -r "$p"; done
tar -cf - docs | (mkdir -p cp && cd cp && tar xf -)
for f in *.md; do [ -e "${f%.md}.txt" ] || cp "$f" "${f%.md}.txt"; done
mv !(a|b).txt archive/ 2>/dev/null || mv draft*.txt archive/
set -e; cd docs; mv guide.md g.md; cd nowhere; rm g.md
trap "touch cleaned" EXIT; mv a.txt x.txt; false
mkdir a b c 2>&1; mv a.txt a; mv b.txt b/; rmdir c
printf "%s\n" draft-{1,2}.txt | xargs -n 1 -I X mv X archive/X.old
awk "BEGIN{print \"hi\"}" > awk.out; cp awk.out{,2}
exec > log.txt 2>&1; mv a.txt q.txt; echo done
{ mv a.txt 1.txt; mv nope 2.txt; mv b.txt 3.txt; } 2>/dev/null; true
mv a.txt first && { mv b.txt second; cd docs; } && mv guide.md third
case "$(uname)" in Darwin) rm a.txt;; Linux) rm b.txt;; esac
files="a.txt b.txt"; for f in $files; do rm $f; done
rm -- "$(ls -t | head -n1)"
ls -S *.txt | head -1 | xargs -I{} cp {} biggest.txt
mv ./*.png ./archive && cd archive && for f in *.png; do mv "$f" "${f#*-*-*-}"; done
mkdir -p "new dir/sub dir" && mv *.JPG "new dir/sub dir" && mv "new dir" nd
"""
SCRIPTS = r"""
mkdir -p sorted/{images,docs,data}
for f in *; do
  [ -f "$f" ] || continue
  case "${f##*.}" in
    jpg|jpeg|JPG|png) mv -- "$f" sorted/images/ ;;
    md|txt|pdf) mv -- "$f" sorted/docs/ ;;
    csv|lst) mv -- "$f" sorted/data/ ;;
    *) echo "skip $f" ;;
  esac
done
ls -R sorted | head -20
----
count=0
for file in draft-*.txt; do
    num=$(echo "$file" | sed 's/draft-\([0-9]*\).txt/\1/')
    new=$(printf "draft-%02d.txt" "$num")
    if [ "$file" != "$new" ]; then mv "$file" "$new"; count=$((count + 1)); fi
done
echo "renamed $count"
----
find . -type f -name "*.png" | while IFS= read -r f; do
  base=$(basename "$f"); year=${base%%-*}
  mkdir -p "by-year/$year"
  mv "$f" "by-year/$year/$base"
done
----
set -euo pipefail
tmp=work.tmp
grep -v beta b.txt > "$tmp" || true
mv "$tmp" b.txt
----
python3 - <<'PY'
print("x")
PY
mv a.txt after-python.txt && rm -f b.txt
----
test -e new.cfg || cat > new.cfg <<EOF
host=$(echo local)
EOF
cp new.cfg new.cfg.bak
----
cat > cfg.ini <<'EOF'
[x]
rm = a.txt
EOF
mv b.txt after.txt
----
cat >> a.txt <<EOF
more $HOME $(echo sub)
EOF
----
cat <<'EOF' > doc.txt && mv doc.txt docs/
it's
EOF
----
cat > run.sh <<'EOF'
for f in *.txt; do
  rm "$f"
done
EOF
bash run.sh
----
mv a.txt \
  joined.txt
----
touch "new
line.txt"
----
for dir in */; do
  dir=${dir%/}
  new=$(echo "$dir" | tr ' ' '-' | tr '[:upper:]' '[:lower:]')
  [ "$dir" = "$new" ] || mv "$dir" "$new"; done
----
if [ ! -d build ]; then mkdir build; fi; cp src/*.py build/
cd build && for p in *.py; do mv $p ${p/.py/.txt}; done
----
echo "keep" > keep.txt; echo "drop" > drop.txt
rm drop.txt; echo "more" >> keep.txt; cp keep.txt docs/; mv keep.txt docs/kept.txt
----
[ -d archive ] || mkdir archive; mv logs/*.log archive/
[ -d logs ] && rmdir --ignore-fail-on-non-empty logs; true
----
mkdir -p archive/2023 archive/2024
for f in 20*.png; do
  y=$(cut -d- -f1 <<< "$f"); mv -v "$f" "archive/$y/"; done
----
while read line; do touch "file_${line%.txt}"; done <<EOF
x.txt
y.txt
EOF
"""


def commands() -> list[str]:
    """Each line of the corpus, and each script."""
    return [*CORPUS.strip().split("\n"), *SCRIPTS.strip().split("\n----\n")]


@dataclass(frozen=True)
class FileState:
    """Enough of a file to recognize it under another name, and to notice new contents or a new mode."""

    folder: bool
    inode: int
    written: tuple[int, int]


def scan(root: Path) -> dict[str, FileState]:
    found: dict[str, FileState] = {}
    for above, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for name in [*folders, *files]:
            path = os.path.join(above, name)
            info = os.lstat(path)
            is_folder = os.path.isdir(path) and not os.path.islink(path)
            written = (0, 0) if is_folder else (info.st_mtime_ns, info.st_mode)
            found[path] = FileState(is_folder, info.st_ino, written)
    return found


@dataclass(frozen=True)
class RealRun:
    command: str
    root: str
    output: str
    ok: bool
    before: dict[str, FileState]
    now: dict[str, FileState]

    def listing(self) -> Callable[[str], Sequence[str]]:
        def entries(folder: str) -> list[str]:
            if folder != self.root and folder not in self.before:
                if folder.startswith(self.root + "/"):
                    raise FileNotFoundError(folder)
                raise KeyError(folder)
            if folder != self.root and not self.before[folder].folder:
                raise NotADirectoryError(folder)
            prefix = folder + "/"
            inside = [
                path for path in self.before if path.startswith(prefix) and "/" not in path[len(prefix) :]
            ]
            return [path[len(prefix) :] + "/" * self.before[path].folder for path in inside]

        return entries


@dataclass
class ExpectedFile:
    """A path as the effects describe it: where it came from and whether it was written."""

    origin: str | None
    written: bool = False
    whole: bool = False
    """A new folder, with everything in it."""


@dataclass
class Model:
    """The tree that follows from the effects."""

    paths: dict[str, ExpectedFile]
    touched: dict[str, bool] = field(default_factory=dict)
    """Every path that an effect covers, and whether it was only inferred."""
    contradictory: set[str] = field(default_factory=set)
    """Paths created for certain though they were there, or modified though they were not."""

    def inside(self, path: str) -> list[str]:
        return [other for other in self.paths if other == path or other.startswith(path + "/")]

    def in_new_folder(self, path: str) -> bool:
        return any(file.whole and path.startswith(name + "/") for name, file in self.paths.items())

    def inferred(self, path: str) -> bool:
        above = any(inferred and path.startswith(name + "/") for name, inferred in self.touched.items())
        return self.touched.get(path, above)

    def touch(self, path: str, inferred: bool) -> None:
        self.touched[path] = self.touched.get(path, False) or inferred

    def apply(self, effect: FileEffect) -> None:
        if effect.change == "read":
            return
        self.touch(effect.path, effect.inferred)
        there = effect.path in self.paths or self.in_new_folder(effect.path)
        if effect.change == "deleted":
            for path in self.inside(effect.path):
                self.touch(path, effect.inferred)
                del self.paths[path]
        elif effect.change == "renamed":
            assert effect.origin is not None
            moved = {path: self.paths.pop(path) for path in self.inside(effect.origin)}
            uncertain = effect.inferred or any(self.inferred(path) for path in [effect.origin, *moved])
            self.touch(effect.origin, effect.inferred)
            self.touch(effect.path, uncertain)
            for path in self.inside(effect.path):
                del self.paths[path]
            for path, expected in moved.items():
                target = effect.path + path[len(effect.origin) :]
                self.touch(path, effect.inferred)
                self.touch(target, self.touched[path])
                self.paths[target] = expected
        elif effect.change == "created":
            if effect.path in self.paths and not effect.inferred:
                self.contradictory.add(effect.path)
            self.paths[effect.path] = ExpectedFile(None, True, whole=True)
        else:
            if not there and not effect.inferred:
                self.contradictory.add(effect.path)
            before = self.paths.get(effect.path, ExpectedFile(None))
            self.paths[effect.path] = ExpectedFile(before.origin, True)


@dataclass
class Score:
    exact: int = 0
    inferred: int = 0
    missed: list[str] = field(default_factory=list)
    inferred_wrong: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.changes} changes, {self.exact} exact, {self.inferred} inferred right, "
            f"{len(self.missed)} missed, {len(self.inferred_wrong)} inferred wrong, {len(self.wrong)} wrong; "
            f"{self.covered:.1%} covered"
        )

    @property
    def changes(self) -> int:
        return self.exact + self.inferred + len(self.missed)

    @property
    def covered(self) -> float:
        return (self.exact + self.inferred) / self.changes


State = tuple[str | None, bool] | None
"""Where a file came from and whether it was written; None when there is none."""


def states(path: str, run: RealRun) -> list[State]:
    """Return the correct descriptions of a path, usually a single one."""
    state = run.now.get(path)
    if state is None:
        return [None]
    origin = next((name for name, old in run.before.items() if old.inode == state.inode), None)
    if origin is None:
        return [(path if path in run.before and not state.folder else None, True)]
    moved = origin, not state.folder and run.before[origin].written != state.written
    remaining = run.now.get(origin)
    if origin == path or remaining is None:
        return [moved]
    # The old name is still in use: a hard link, or a new file as with sed -i.
    return [(None, True)] if remaining.inode == state.inode else [moved, (None, True)]


def judge(run: RealRun, effects: Sequence[FileEffect], score: Score) -> None:
    model = Model({path: ExpectedFile(path) for path in run.before})
    for effect in effects:
        model.apply(effect)
    for path in sorted({*run.before, *run.now, *model.paths, *model.touched}):
        actual = states(path, run)
        expected = model.paths.get(path)
        reported: State = None if expected is None else (expected.origin, expected.written)
        if expected is not None and path in run.now and run.now[path].folder:
            reported = expected.origin, expected.origin is None
        covered = model.in_new_folder(path)
        right = reported in actual or (expected is None and covered and actual != [None])
        if reported is not None and reported[1] and any(state is not None and state[1] for state in actual):
            right = path not in model.contradictory
        changed = actual != [(path, False) if path in run.before else None]
        inferred = model.inferred(path)
        if right:
            score.exact += changed and not inferred
            score.inferred += changed and inferred
            continue
        message = f"{run.command!r}: {path} reported as {reported}, is {actual}".replace(run.root + "/", "")
        if inferred and path in model.touched:
            score.inferred_wrong.append(message)
        elif path in model.touched or covered:
            score.wrong.append(message)
        if changed and (inferred or path not in model.touched):
            score.missed.append(message)


@pytest.fixture(scope="module")
def real_runs(tmp_path_factory: pytest.TempPathFactory) -> list[RealRun]:
    """Every command of the corpus, run once by bash in its own copy of the tree."""
    template = tmp_path_factory.mktemp("template")
    for number, (name, text) in enumerate(FILES.items()):
        path = template / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        os.utime(path, (1_600_000_000 + number, 1_600_000_000 + number))
    for name in FOLDERS:
        (template / name).mkdir()
    parent = tmp_path_factory.mktemp("runs")
    environment = {
        **{
            "PATH": os.environ["PATH"],
            "LC_ALL": "C.UTF-8",
            "HOME": str(parent / "home"),
            "TMPDIR": str(parent),
        },
        **{"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"},
        **dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "Someone"),
        **dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "someone@example.org"),
    }
    repository = tmp_path_factory.mktemp("repository") / "tree"
    shutil.copytree(template, repository)
    for words in ("init -q --template=", "add -A", "commit -q -m first"):
        subprocess.run(["git", *words.split()], cwd=repository, env=environment, check=True)

    def run_in_bash(numbered: tuple[int, str]) -> RealRun:
        number, command = numbered
        root = parent / f"r{number}" / "work"
        shutil.copytree(repository if "git " in command else template, root)
        before = scan(root)
        open_files = [os.open(path, os.O_RDONLY) for path in before]  # so that no inode is given out twice
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
            check=False,
        )
        now = scan(root)
        for descriptor in open_files:
            os.close(descriptor)
        shutil.rmtree(root)
        output = done.stdout.decode("utf-8", "replace")
        return RealRun(command, str(root), output, done.returncode == 0, before, now)

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(run_in_bash, enumerate(commands())))


def judged(real_runs: Sequence[RealRun], *, listed: bool) -> Score:
    score = Score()
    for run in real_runs:
        listing = run.listing() if listed else None
        effects = file_effects(run.command, cwd=run.root, output=run.output, ok=run.ok, listing=listing)
        judge(run, effects, score)
    return score


def test_with_a_listing_no_certain_effect_is_wrong_and_nearly_all_are_found(
    real_runs: list[RealRun],
) -> None:
    assert len(real_runs) >= 150
    score = judged(real_runs, listed=True)
    print(
        f"\n{len(real_runs)} commands with listing: {score}", *score.missed, *score.inferred_wrong, sep="\n  "
    )
    assert score.wrong == [], "\n".join(score.wrong)
    assert score.covered >= 0.95, "\n".join(score.missed)


def test_without_a_listing_no_certain_effect_is_wrong(real_runs: list[RealRun]) -> None:
    score = judged(real_runs, listed=False)
    print(f"\n{len(real_runs)} commands without listing: {score}", *score.missed, sep="\n  ")
    assert score.wrong == [], "\n".join(score.wrong)


def test_with_known_folders_no_certain_effect_is_wrong_and_most_are_found(
    real_runs: list[RealRun],
) -> None:
    score = Score()
    for run in real_runs:
        known = KnownFolders()
        for path, state in run.before.items():
            above, name = os.path.split(path)
            known.add_listing(above, [name + "/" if state.folder else name], whole=False, marked=True)
        judge(run, file_effects(run.command, cwd=run.root, output=run.output, ok=run.ok, known=known), score)
    print(f"\n{len(real_runs)} commands with what was known: {score}", *score.missed, sep="\n  ")
    assert score.wrong == [], "\n".join(score.wrong)
    assert score.covered >= 0.92, "\n".join(score.missed)


def test_no_effect_is_outside_the_folder_of_the_command(real_runs: list[RealRun]) -> None:
    for run in real_runs:
        effects = file_effects(run.command, cwd=run.root, output=run.output, ok=run.ok, listing=run.listing())
        assert all(effect.path.startswith(run.root + "/") for effect in effects), run.command
