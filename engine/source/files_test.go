package source_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"kanon.dev/kanon/engine/source"
)

// follow runs a Files source and returns a function that waits for a snapshot
// in which each file has the content given, and returns that.
func follow(t *testing.T, paths ...string) func(want map[string]string) source.Snapshot {
	t.Helper()
	files, err := source.NewFiles(paths...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	snapshots := make(chan source.Snapshot, 16)
	done := make(chan error, 1)
	go func() { done <- files.Run(ctx, func(s source.Snapshot) { snapshots <- s }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return func(want map[string]string) source.Snapshot {
		t.Helper()
		timeout := time.After(20 * time.Second)
		var last map[string]string
		for {
			select {
			case s := <-snapshots:
				if last = contents(s); equal(last, want) {
					return s
				}
			case <-timeout:
				t.Fatalf("no snapshot with %q; the last was %q", want, last)
			}
		}
	}
}

func contents(s source.Snapshot) map[string]string {
	found := make(map[string]string)
	for _, bundle := range s.Bundles {
		for _, text := range bundle.Texts {
			found[filepath.Base(text.Name)] = string(text.Data)
		}
	}
	return found
}

func equal(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for name, text := range a {
		if other, ok := b[name]; !ok || other != text {
			return false
		}
	}
	return true
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDirectoryIsFollowed(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), "a")
	write(t, filepath.Join(dir, "notes.txt"), "not a document")
	t.Run("changes", func(t *testing.T) {
		await := follow(t, dir)
		await(map[string]string{"a.yaml": "a"})
		write(t, filepath.Join(dir, "b.yml"), "b")
		await(map[string]string{"a.yaml": "a", "b.yml": "b"})
		// Many editors write a new file and rename it over the old one.
		write(t, filepath.Join(dir, ".a.yaml.swp"), "changed")
		if err := os.Rename(filepath.Join(dir, ".a.yaml.swp"), filepath.Join(dir, "a.yaml")); err != nil {
			t.Fatal(err)
		}
		await(map[string]string{"a.yaml": "changed", "b.yml": "b"})
		if err := os.Remove(filepath.Join(dir, "b.yml")); err != nil {
			t.Fatal(err)
		}
		await(map[string]string{"a.yaml": "changed"})
	})
}

// A ConfigMap that is mounted as a volume changes by a symbolic link to another
// directory.
func TestMountedConfigMapIsFollowed(t *testing.T) {
	dir := t.TempDir()
	for _, version := range []string{"v1", "v2"} {
		if err := os.Mkdir(filepath.Join(dir, ".."+version), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, ".."+version, "rule.yaml"), version)
	}
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("..v1", "..data")
	link(filepath.Join("..data", "rule.yaml"), "rule.yaml")
	await := follow(t, dir)
	await(map[string]string{"rule.yaml": "v1"})
	link("..v2", "..data_tmp")
	if err := os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	await(map[string]string{"rule.yaml": "v2"})
}

func TestFileThatVanishesStaysInForce(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "rule.yaml"), filepath.Join(dir, "other.yaml")
	write(t, path, "kept")
	write(t, other, "1")
	await := follow(t, path, other)
	await(map[string]string{"rule.yaml": "kept", "other.yaml": "1"})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(t, other, "2")
	await(map[string]string{"rule.yaml": "kept", "other.yaml": "2"})
}

// A program that writes into a file empties it first (tool > rule.yaml): that removes no rule. To remove the file does.
func TestFileThatIsEmptiedStaysInForce(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "rule.yaml"), filepath.Join(dir, "other.yaml")
	write(t, path, "")
	write(t, other, "1")
	await := follow(t, dir)
	check := func(complete bool, want map[string]string) {
		t.Helper()
		if got := await(want).Complete; got != complete {
			t.Errorf("with %q it is complete: %t, want %t", want, got, complete)
		}
	}
	check(false, map[string]string{"rule.yaml": "", "other.yaml": "1"}) // nothing is known of it
	write(t, path, "kept")
	check(true, map[string]string{"rule.yaml": "kept", "other.yaml": "1"})
	write(t, path, " \n")
	write(t, other, "2")
	check(true, map[string]string{"rule.yaml": "kept", "other.yaml": "2"})
	write(t, path, "new")
	check(true, map[string]string{"rule.yaml": "new", "other.yaml": "2"})
	write(t, path, "")
	write(t, other, "3")
	check(true, map[string]string{"rule.yaml": "new", "other.yaml": "3"})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	check(true, map[string]string{"other.yaml": "3"})
}

func TestPathThatIsNotThere(t *testing.T) {
	if _, err := source.NewFiles(filepath.Join(t.TempDir(), "nowhere")); err == nil {
		t.Error("a path that is not there was accepted")
	}
}

func TestFileNamedTwiceIsOneOrigin(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "rule.yaml")
	write(t, path, "once")
	files, err := source.NewFiles(dir, path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var first source.Snapshot
	if err := files.Run(ctx, func(s source.Snapshot) { first = s; cancel() }); err != nil {
		t.Fatal(err)
	}
	if len(first.Bundles) != 1 {
		t.Errorf("%d origins, want 1", len(first.Bundles))
	}
}
