package deploy_test

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"kanon.dev/kanon/internal/controlplanetest"
)

// A release for this machine has all of its files, with their checksums, and the program and the image are what they should be. It is
// made in a clone: dist must not exist.
func TestRelease(t *testing.T) {
	controlplanetest.Nightly(t)
	clone := filepath.Join(t.TempDir(), "clone")
	run := func(dir string, environment []string, name string, args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), name, args...)
		command.Dir, command.Env = dir, append(os.Environ(), environment...)
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, output)
		}
		return string(output)
	}
	run("..", nil, "git", "clone", "--quiet", ".", clone)
	if err := exec.CommandContext(t.Context(), filepath.Join(clone, "deploy/release.sh")).Run(); err == nil {
		t.Error("a release without a version was made")
	}
	platform := runtime.GOOS + "_" + runtime.GOARCH
	run(clone, []string{
		"VERSION=v9.8.7", "IMAGE=registry.example.com/kanon", "DOWNLOADS=https://example.com/VERSION", "PLATFORMS=" + strings.ReplaceAll(platform, "_", "/"),
	}, "deploy/release.sh")

	dist := filepath.Join(clone, "dist")
	entries, err := os.ReadDir(dist)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	name := "kanon_v9.8.7_" + platform
	want := []string{"checksums.txt", "image", "install.yaml", "kanon-9.8.7.tgz", "kanon.yaml", name + ".cdx.json", name + ".tar.gz"}
	if !slices.Equal(got, want) {
		t.Errorf("the release has %q, want %q", got, want)
	}
	run(dist, nil, "sha256sum", "--check", "--quiet", "checksums.txt")
	run(dist, nil, "tar", "-xzf", name+".tar.gz")
	if version := run(dist, nil, "./kanon", "version"); version != "kanon v9.8.7\n" {
		t.Errorf("kanon version: %s", version)
	}
	for file, text := range map[string]string{
		"install.yaml":     "image: registry.example.com/kanon:v9.8.7\n",
		name + ".cdx.json": `"purl": "pkg:golang/github.com/google/cel-go@v`,
		"kanon.yaml":       "uri: https://example.com/v9.8.7/" + name + ".tar.gz",
	} {
		data, err := os.ReadFile(filepath.Join(dist, file))
		if err != nil || !strings.Contains(string(data), text) {
			t.Errorf("%s does not have %s: %v", file, text, err)
		}
	}
	if !json.Valid([]byte(run(dist, nil, "cat", name+".cdx.json"))) {
		t.Error("the list of modules is no JSON")
	}
	checkStatic(t, filepath.Join(dist, "kanon"))
	checkBlobs(t, filepath.Join(dist, "image"), filepath.Join(dist, "image", "index.json"))
}

// checkStatic: the image has nothing but the program, so there is no loader and no library that it could use.
func checkStatic(t *testing.T, path string) {
	t.Helper()
	program, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = program.Close() }()
	if slices.ContainsFunc(program.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Error("the program asks for a dynamic loader")
	}
}

// checkBlobs checks that the descriptors in a file of an OCI layout name blobs with their digests and sizes.
func checkBlobs(t *testing.T, layout, path string) {
	t.Helper()
	type descriptor struct {
		MediaType, Digest string
		Size              int
	}
	var file struct {
		Manifests, Layers []descriptor
		Config            *descriptor
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	all := slices.Concat(file.Manifests, file.Layers)
	if file.Config != nil {
		all = append(all, *file.Config)
	}
	if len(all) == 0 {
		t.Errorf("%s names nothing: %s", path, data)
	}
	for _, d := range all {
		digest := strings.TrimPrefix(d.Digest, "sha256:")
		blob := filepath.Join(layout, "blobs", "sha256", digest)
		content, err := os.ReadFile(blob)
		if sum := sha256.Sum256(content); err != nil || hex.EncodeToString(sum[:]) != digest || len(content) != d.Size {
			t.Errorf("%s: %+v is not what is stored: %v", path, d, err)
		}
		if strings.Contains(d.MediaType, "manifest") || strings.Contains(d.MediaType, "index") {
			checkBlobs(t, layout, blob)
		} else if strings.Contains(d.MediaType, "config") && !strings.Contains(string(content), `"Entrypoint":["/kanon"]`) {
			t.Errorf("the image runs %s", content)
		}
	}
}
