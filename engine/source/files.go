package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/go-logr/logr"
)

// settle is how long to wait after a file event before the files are read: an editor that saves by renaming causes
// three or four events within milliseconds.
const settle = 50 * time.Millisecond

// Files reads documents from files and directories, and reads them again when they change. A directory stands for its
// .yaml and .yml files, without subdirectories.
type Files struct {
	paths []string
	// known has the last good reading of each path. Only Run's goroutine uses it.
	known map[string][]Bundle
}

// NewFiles returns the source of paths. It fails if one of them does not exist, so that a mistyped option is found at
// the start.
func NewFiles(paths ...string) (*Files, error) {
	f := &Files{known: make(map[string][]Bundle, len(paths))}
	for _, path := range paths {
		clean := filepath.Clean(path)
		if _, err := os.Stat(clean); err != nil {
			return nil, fmt.Errorf("read rules: %w", err)
		}
		if !slices.Contains(f.paths, clean) {
			f.paths = append(f.paths, clean)
		}
	}
	return f, nil
}

// Run publishes a snapshot of the files at once and after each change, until ctx ends. It returns an error only if
// the file system cannot be watched.
func (f *Files) Run(ctx context.Context, publish func(Snapshot)) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch rule files: %w", err)
	}
	defer func() { _ = watcher.Close() }() // an error while closing has no consequence
	for _, dir := range f.directories() {
		if err := watcher.Add(dir); err != nil {
			return fmt.Errorf("watch rule files in %s: %w", dir, err)
		}
	}

	last := f.read(ctx)
	publish(last)
	timer := time.NewTimer(settle)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-watcher.Events:
			timer.Reset(settle)
		case err := <-watcher.Errors:
			// Events were lost, so the files are read again.
			logr.FromContextOrDiscard(ctx).Error(err, "watching rule files")
			timer.Reset(settle)
		case <-timer.C:
			if next := f.read(ctx); !next.equal(last) {
				last = next
				publish(last)
			}
		}
	}
}

// directories returns the directories to watch. A file is watched through its directory, because many programs
// replace a file instead of writing into it.
func (f *Files) directories() []string {
	var dirs []string
	for _, path := range f.paths {
		dir := path
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			dir = filepath.Dir(path)
		}
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// read reads all paths. A path that cannot be read, or a file that is blank, keeps its last good reading.
func (f *Files) read(ctx context.Context) Snapshot {
	s := Snapshot{Complete: true}
	for _, path := range f.paths {
		bundles, err := readPath(path)
		if err != nil {
			logr.FromContextOrDiscard(ctx).Error(err, "reading rules; what was read before stays in force", "path", path)
			bundles, s.Complete = f.known[path], false
		}
		if f.keepBlank(ctx, bundles, f.known[path]) {
			s.Complete = false
		}
		f.known[path] = bundles
		s.Bundles = append(s.Bundles, bundles...)
	}
	slices.SortFunc(s.Bundles, func(a, b Bundle) int { return cmp.Compare(a.Origin.Path, b.Origin.Path) })
	// A file named twice, by itself and by its directory, is one origin.
	s.Bundles = slices.CompactFunc(s.Bundles, func(a, b Bundle) bool { return a.Origin == b.Origin })
	return s
}

// errBlank reports a blank file, as it exists while a program writes it (tool > rule.yaml).
var errBlank = errors.New("the file is empty, as while it is written; to remove its rules, remove the file")

// keepBlank replaces each blank file by its last reading, because a blank file must not count as the removal of its
// rules. It reports whether some blank file has no earlier reading.
func (f *Files) keepBlank(ctx context.Context, bundles, before []Bundle) (unknown bool) {
	for i, bundle := range bundles {
		if !bundle.isBlank() {
			continue
		}
		logr.FromContextOrDiscard(ctx).Error(errBlank, "reading rules; what was read before stays in force", "path", bundle.Origin.Path)
		at := slices.IndexFunc(before, func(b Bundle) bool { return b.Origin == bundle.Origin && !b.isBlank() })
		if at < 0 {
			unknown = true
			continue
		}
		bundles[i] = before[at]
	}
	return unknown
}

// isBlank reports whether a file has no content.
func (b Bundle) isBlank() bool { return len(bytes.TrimSpace(b.Texts[0].Data)) == 0 }

// readPath reads one file, or the documents in one directory.
func readPath(path string) ([]Bundle, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		bundle, err := readFile(path)
		if err != nil {
			return nil, err
		}
		return []Bundle{bundle}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var bundles []Bundle
	for _, entry := range entries {
		if entry.IsDir() || !isDocument(entry.Name()) {
			continue
		}
		bundle, err := readFile(filepath.Join(path, entry.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since the directory was listed
		}
		if err != nil {
			return nil, err
		}
		bundles = append(bundles, bundle)
	}
	return bundles, nil
}

func readFile(path string) (Bundle, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Bundle{}, err
	}
	return Bundle{Origin: Origin{Path: path}, Texts: []Text{{Name: path, Data: data, File: true}}}, nil
}

// Covers reports whether a file with this path would be read.
func (f *Files) Covers(origin Origin) bool {
	return origin.Path != "" && (slices.Contains(f.paths, origin.Path) ||
		slices.Contains(f.paths, filepath.Dir(origin.Path)) && isDocument(origin.Path))
}
