package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// A release is made for one platform: that of this machine, for which the program's packages are in Go's cache.
func TestRelease(t *testing.T) {
	here := platform{runtime.GOOS, runtime.GOARCH}
	out := filepath.Join(t.TempDir(), "dist")
	r, err := parse([]string{
		"--version", "v9.8.7", "--image", "registry.example.com/kanon", "--downloads", "https://example.com/VERSION", "--root", "../..", "--out", out,
		"--platforms", here.system + "/" + here.architecture,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.log = t.Logf
	if err := r.make(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"checksums.txt", "image", "install.yaml", "kanon-9.8.7.tgz", "kanon.yaml", "kanon_v9.8.7_" + here.String() + ".cdx.json", "kanon_v9.8.7_" + here.String() + ".tar.gz"}
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("the release has %q, want %q", got, want)
	}
	checkSums(t, out)
	checkProgram(t, filepath.Join(out, r.archiveOf(here)))
	checkImage(t, r, here)
	for file, texts := range map[string][]string{
		"install.yaml":               {"image: registry.example.com/kanon:v9.8.7\n"},
		r.nameOf(here) + ".cdx.json": {`"purl": "pkg:golang/github.com/google/cel-go@v`, `"version": "v9.8.7"`},
		"kanon.yaml":                 {"uri: https://example.com/v9.8.7/kanon_v9.8.7_" + here.String() + ".tar.gz", "version: v9.8.7", "arch: " + here.architecture},
	} {
		data, err := os.ReadFile(filepath.Join(out, file))
		for _, text := range texts {
			if err != nil || !strings.Contains(string(data), text) {
				t.Errorf("%s does not have %s: %v", file, text, err)
			}
		}
	}
}

// checkSums compares the files with checksums.txt, which has all of them.
func checkSums(t *testing.T, out string) {
	t.Helper()
	file, err := os.Open(filepath.Join(out, "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	known := 0
	for lines := bufio.NewScanner(file); lines.Scan(); known++ {
		sum, name, _ := strings.Cut(lines.Text(), "  ")
		data, err := os.ReadFile(filepath.Join(out, name))
		if err != nil || checksum(data) != sum {
			t.Errorf("%s does not have the checksum %s: %v", name, sum, err)
		}
	}
	if known < 9 { // six files and those of the image
		t.Errorf("%d files have checksums", known)
	}
}

// checkProgram runs the program of an archive.
func checkProgram(t *testing.T, archive string) {
	t.Helper()
	dir := t.TempDir()
	if output, err := exec.CommandContext(t.Context(), "tar", "-xzf", archive, "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, output)
	}
	output, err := exec.CommandContext(t.Context(), filepath.Join(dir, "kanon"), "version").Output()
	if err != nil || string(output) != "kanon v9.8.7\n" {
		t.Errorf("kanon version: %v %s", err, output)
	}
	if _, err := os.Stat(filepath.Join(dir, "LICENSE")); err != nil {
		t.Error(err)
	}
}

// checkImage compares the image with what the Dockerfile says.
func checkImage(t *testing.T, r *release, p platform) {
	t.Helper()
	if p.system != "linux" {
		return
	}
	index, err := layout.ImageIndexFromPath(filepath.Join(r.out, "image"))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Errorf("the image is not valid: %v", err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("%v %+v", err, manifest)
	}
	inner, err := index.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	images, err := inner.IndexManifest()
	if err != nil || len(images.Manifests) != 1 || images.Manifests[0].Platform.String() != p.system+"/"+p.architecture {
		t.Fatalf("%v %+v", err, images)
	}
	image, err := inner.Image(images.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	dockerfile, err := os.ReadFile(filepath.Join(r.root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	for instruction, value := range map[string]any{"USER": config.Config.User, "ENTRYPOINT": config.Config.Entrypoint, "CMD": config.Config.Cmd} {
		text, isText := value.(string)
		if !isText {
			encoded, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			text = string(encoded)
		}
		if !regexp.MustCompile(`(?m)^` + instruction + ` ` + regexp.QuoteMeta(text) + `$`).Match(dockerfile) {
			t.Errorf("the image has %s %s, and the Dockerfile has not", instruction, text)
		}
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Errorf("%d layers: %v", len(layers), err)
	}
}

func TestBadArguments(t *testing.T) {
	for name, args := range map[string][]string{
		"no version":  nil,
		"not a v":     {"--version", "1.2.3"},
		"a branch":    {"--version", "main"},
		"no platform": {"--version", "v1.2.3", "--platforms", "linux"},
	} {
		if _, err := parse(args); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	r, err := parse([]string{"--version", "v1.2.3", "--out", t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.make(t.Context()); err == nil {
		t.Error("a directory that exists is written to")
	}
}
