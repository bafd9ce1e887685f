#!/bin/sh
# Lays the documents out as Hugo wants them, in the directory that is named: README.md is the page of its folder, an example with its files
# is one page, and an example in a document says whether it is a rule, its input or its result.
set -eu
cd "$(dirname "$0")/../.."
to=$1
rm -rf "$to"
mkdir -p "$to/content" "$to/static"

# page FILE TARGET
page() {
	mkdir -p "$(dirname "$2")"
	sed -E 's/^```yaml (parent|rule|with|result|test)$/```yaml {title="\1"}/; s/\{title="with"\}$/{title="other objects"}/' "$1" >"$2"
}

page README.md "$to/content/_index.md"
for file in ARCHITECTURE CHANGELOG CONTRIBUTING SECURITY; do
	page $file.md "$to/content/$file.md"
done
find docs -name '*.md' | while read -r file; do
	page "$file" "$to/content/$(echo "$file" | sed 's,README.md$,_index.md,')"
done
page examples/README.md "$to/content/examples/_index.md"
for dir in examples/*/; do
	name=$(basename "$dir")
	page "$dir/README.md" "$to/content/examples/$name/index.md"
	cp "$dir"*.yaml "$to/content/examples/$name/"
done
# Other files of the repository that a page links to, such as a picture or a chart's values.
grep -roE '\]\([^)#: ]+' ./*.md docs examples --include='*.md' | while IFS=: read -r file link; do
	target=$(realpath -m --relative-to=. "$(dirname "$file")/${link#??}")
	case $target in *.md | examples/*) continue ;; esac
	if [ -f "$target" ]; then
		mkdir -p "$to/static/$(dirname "$target")"
		cp "$target" "$to/static/$target"
	fi
done
# Go code among them belongs to no module that is built.
echo 'module site' >"$to/static/go.mod"
cp -r docs/site/layouts docs/site/assets docs/site/hugo.yaml "$to/"
