#!/usr/bin/env bash
# Makes all files of a release in dist/, and publishes none: `make release VERSION=v0.1.0`; docs/releasing.md lists them. Needs Go, git
# and GNU tar. The same commit and the same Go give the same bytes: times are those of the commit. The image needs no container daemon,
# because it is one file and the configuration of the Dockerfile.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${VERSION:-} image=${IMAGE:-kanon}
export VERSION=$version # for the command of the Dockerfile
platforms=${PLATFORMS:-linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64}
downloads=${DOWNLOADS:-https://example.com/kanon/VERSION}
downloads=${downloads//VERSION/$version}
[[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || { echo "release: VERSION must be such as v0.1.0, not \"$version\"" >&2; exit 1; }
mkdir dist || { echo 'release: remove dist first' >&2; exit 1; }
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
made=$(git log -1 --format=%ct)
created=$(date -u -d "@$made" +%Y-%m-%dT%H:%M:%SZ)

sum() { sha256sum "$1" | cut -d' ' -f1; }
# pack FOLDER FILE... archives files, for everybody and executable.
pack() { tar -C "$1" --sort=name --mtime="@$made" --owner=0 --group=0 --numeric-owner --mode=0755 --format=ustar -cf - "${@:2}" | gzip -n; }
# dockerfile WORD is an instruction of the Dockerfile.
dockerfile() { sed -n "s/^$1 //p" Dockerfile | tail -n 1; }
# blob FILE stores a file in the image, and prints its descriptor without the type.
blob() {
	mkdir -p dist/image/blobs/sha256
	cp "$1" "dist/image/blobs/sha256/$(sum "$1")"
	printf '"digest":"sha256:%s","size":%s' "$(sum "$1")" "$(stat -c %s "$1")"
}
# bom PROGRAM lists its modules, as the Go toolchain recorded them in it (CycloneDX).
bom() {
	go version -m "$1" | awk -v version="$version" -v created="$created" '
		BEGIN {n = 0}
		NR == 1 {go = $NF}
		$1 == "mod" {main = $2}
		$1 == "dep" || $1 == "=>" {if ($1 == "=>") n--; path[n] = $2; of[n++] = $3}
		function component(type, name, v) {
			return sprintf("{\"type\": \"%s\", \"name\": \"%s\", \"version\": \"%s\", \"purl\": \"pkg:golang/%s@%s\"}", type, name, v, name, v)
		}
		END {
			print "{\n  \"bomFormat\": \"CycloneDX\", \"specVersion\": \"1.6\", \"version\": 1,"
			print "  \"metadata\": {\"timestamp\": \"" created "\", \"component\": " component("application", main, version) "},"
			printf "  \"components\": [\n    " component("library", "std", substr(go, 3))
			for (i = 0; i < n; i++) printf ",\n    " component("library", path[i], of[i])
			print "\n  ]\n}"
		}'
}

manifests='' plugins=''
for platform in ${platforms//,/ }; do
	os=${platform%/*} arch=${platform#*/} program=kanon
	name=kanon_${version}_${os}_$arch dir=$build/$os-$arch
	[ "$os" != windows ] || program=kanon.exe
	echo "building for $platform" >&2
	mkdir "$dir" && cp LICENSE "$dir"
	# With the command of the Dockerfile, so that the release is what the image is.
	command=$(sed -n 's/^RUN \(.*go build .*\) -o \/kanon /\1 -o "$OUT" /p' Dockerfile)
	GOFLAGS='' GOOS=$os GOARCH=$arch OUT=$dir/$program sh -c "$command"
	pack "$dir" LICENSE $program >"dist/$name.tar.gz"
	bom "$dir/$program" >"dist/$name.cdx.json"
	plugins+="  - selector: {matchLabels: {os: $os, arch: $arch}}
    uri: $downloads/$name.tar.gz
    sha256: $(sum "dist/$name.tar.gz")
    bin: $program
"
	[ "$os" = linux ] || continue
	pack "$dir" kanon >"$build/layer.tar.gz"
	gzip -dc "$build/layer.tar.gz" >"$build/layer.tar"
	cat >"$build/config.json" <<-END
		{"created":"$created","architecture":"$arch","os":"$os","config":{"User":"$(dockerfile USER)","Entrypoint":$(dockerfile ENTRYPOINT),"Cmd":$(dockerfile CMD),"Labels":{"org.opencontainers.image.title":"kanon","org.opencontainers.image.version":"$version"}},"rootfs":{"type":"layers","diff_ids":["sha256:$(sum "$build/layer.tar")"]}}
	END
	cat >"$build/manifest.json" <<-END
		{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.image.config.v1+json",$(blob "$build/config.json")},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip",$(blob "$build/layer.tar.gz")}]}
	END
	manifests+=",{\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",$(blob "$build/manifest.json"),\"platform\":{\"architecture\":\"$arch\",\"os\":\"$os\"}}"
done

if [ -n "$manifests" ]; then # an index with the image of each platform, as crane, skopeo and oras push it
	index='"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json"'
	echo "{$index,\"manifests\":[${manifests#,}]}" >"$build/index.json"
	echo "{$index,\"manifests\":[{\"mediaType\":\"application/vnd.oci.image.index.v1+json\",$(blob "$build/index.json"),\"annotations\":{\"org.opencontainers.image.ref.name\":\"$version\"}}]}" >dist/image/index.json
	echo '{"imageLayoutVersion":"1.0.0"}' >dist/image/oci-layout
fi
go tool -modfile=internal/tools/go.mod helm package deploy/chart --version "${version#v}" --app-version "$version" --destination dist >&2
sed "s|image: kanon\$|image: $image:$version|" deploy/install.yaml >dist/install.yaml
grep -q "image: $image:$version\$" dist/install.yaml
cat >dist/kanon.yaml <<END
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata: {name: kanon}
spec:
  version: $version
  shortDescription: Write, check and follow rules of Kanon
  description: |
    Kanon turns rules written in YAML into running Kubernetes operators.
    This is its command line: kubectl kanon --help lists what it does.
  platforms:
$plugins
END
(cd dist && find . -type f ! -name checksums.txt | sed 's,^\./,,' | LC_ALL=C sort | xargs sha256sum >checksums.txt)
