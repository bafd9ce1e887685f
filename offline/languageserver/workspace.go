package languageserver

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"time"

	"kanon.dev/kanon/offline/manifests"
)

// Limits for files in a folder, which could be a home directory.
const (
	maxFiles    = 2000
	maxFileSize = 4 << 20
)

// workspace has the definitions of kinds in the folders of the editor. A file is read again after it has changed.
type workspace struct {
	folders []string
	known   map[string]file
}

// file is the cached content of a file. data is nil if the file has no definition.
type file struct {
	changed time.Time
	size    int64
	data    []byte
}

// definitions lists the files with definitions: first those in the folders, then those in the directory of the text and
// below. Later definitions take precedence. For files that are open in the editor, the text in open is used.
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
			continue // it does not exist yet, or any more
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
