package languageserver

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"time"

	"kanon.dev/kanon/offline/manifests"
)

// The limits of what is read of a folder, of which a home directory would be too much.
const (
	maxFiles    = 2000
	maxFileSize = 4 << 20
)

// workspace has the definitions of kinds in the files of folders. Files are read again when they have changed.
type workspace struct {
	folders []string
	known   map[string]file
}

// file is what was read of a file. Data is nil if it has no definition.
type file struct {
	changed time.Time
	size    int64
	data    []byte
}

// definitions are the files with definitions: those in the folders, then those beside the text and below, which come last, so that these count. open
// has the texts that the editor has, which count for their files.
func (w *workspace) definitions(path string, open map[string]*text) []manifests.File {
	var all []manifests.File
	seen := map[string]bool{path: true}
	dirs := append([]string{}, w.folders...)
	if filepath.IsAbs(path) {
		dirs = append(dirs, filepath.Dir(path))
	}
	for _, dir := range slices.Backward(dirs) {
		paths, err := manifests.FilesOf(dir, ".yaml", ".yml")
		if err != nil {
			continue // it is not there yet, or anymore
		}
		var found []manifests.File
		for _, path := range paths[:min(len(paths), maxFiles)] {
			if !seen[path] {
				seen[path] = true
				if data := w.definition(path, open); data != nil {
					found = append(found, manifests.File{Name: path, Data: data})
				}
			}
		}
		all = append(found, all...)
	}
	return all
}

func (w *workspace) definition(path string, open map[string]*text) []byte {
	for uri, text := range open {
		if pathOf(uri) == path {
			return onlyDefinition([]byte(text.content()))
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxFileSize {
		return nil
	}
	if f, ok := w.known[path]; ok && f.changed.Equal(info.ModTime()) && f.size == info.Size() {
		return f.data
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	data = onlyDefinition(data)
	w.known[path] = file{changed: info.ModTime(), size: info.Size(), data: data}
	return data
}

func onlyDefinition(data []byte) []byte {
	if !bytes.Contains(data, []byte("CustomResourceDefinition")) {
		return nil
	}
	return data
}
