package manifests

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kanon.dev/kanon/rules/syntax"
)

// File is a text that may contain rules, definitions or objects.
type File struct {
	// Name is the name in messages: the path, or stdin.
	Name string
	Data []byte
	// Named is true for a file that was named itself, and false for one found in a directory.
	Named bool
}

// Read reads each of the named files once: files, the YAML files below directories, and standard input for "-". Errors
// name the file.
func Read(args []string, stdin io.Reader) ([]File, error) {
	return readFiles(args, stdin, ".yaml", ".yml")
}

// ReadSchemas is Read, but also reads JSON files below directories, as OpenAPI documents are JSON.
func ReadSchemas(args []string, stdin io.Reader) ([]File, error) {
	return readFiles(args, stdin, ".yaml", ".yml", ".json")
}

// SchemasFor reads the named schemas, like ReadSchemas. Without any, it reads the files beside those of args that may
// contain CustomResourceDefinitions or rules with a schema, so that a rule checked alone has the same findings as with
// its directory. Such files were not named, so unreadable ones are skipped.
func SchemasFor(args, schemas []string, stdin io.Reader) ([]File, error) {
	if len(schemas) > 0 {
		return ReadSchemas(schemas, stdin)
	}
	var beside []File
	isArgument := func(path string) bool {
		return slices.ContainsFunc(args, func(arg string) bool { return filepath.Clean(arg) == path })
	}
	for _, arg := range args {
		info, err := os.Stat(arg)
		if arg == "-" || err != nil || info.IsDir() { // Read reports the error
			continue
		}
		entries, err := os.ReadDir(filepath.Dir(arg))
		if err != nil {
			continue // the directory may be unreadable although the file is readable
		}
		for _, entry := range entries {
			path := filepath.Join(filepath.Dir(arg), entry.Name())
			ext := filepath.Ext(path)
			if entry.Type().IsRegular() && (ext == ".yaml" || ext == ".yml") && !isArgument(path) {
				if data, err := os.ReadFile(path); err == nil && mayDefine(data) {
					beside = append(beside, File{Name: path, Data: data})
				}
			}
		}
	}
	return beside, nil
}

// mayDefine reports whether a text may define a kind, without parsing it.
func mayDefine(data []byte) bool {
	has := func(text string) bool { return bytes.Contains(data, []byte(text)) }
	return has("CustomResourceDefinition") || has(syntax.APIVersion) && has("schema")
}

func readFiles(args []string, stdin io.Reader, endings ...string) ([]File, error) {
	var inputs []File
	seen := map[string]bool{}
	for _, arg := range args {
		files, err := FilesOf(arg, endings...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", arg, Reason(err))
		}
		for _, path := range files {
			if seen[path] {
				continue
			}
			seen[path] = true
			file := File{Name: path, Named: path == filepath.Clean(arg)}
			if path == "-" {
				file.Name = "stdin"
				file.Data, err = io.ReadAll(stdin)
			} else {
				file.Data, err = os.ReadFile(path)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, Reason(err))
			}
			inputs = append(inputs, file)
		}
	}
	return inputs, nil
}

// FilesOf lists the file that an argument names, or the files below a directory with one of the endings, in lexical
// order. Hidden files and directories are skipped.
func FilesOf(arg string, endings ...string) ([]string, error) {
	if arg == "-" {
		return []string{arg}, nil
	}
	arg = filepath.Clean(arg)
	info, err := os.Stat(arg)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{arg}, nil
	}
	var files []string
	err = filepath.WalkDir(arg, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != arg && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return filepath.SkipDir
			}
		case !entry.IsDir() && slices.Contains(endings, filepath.Ext(path)):
			files = append(files, path)
		}
		return nil
	})
	return files, err
}

// Reason is an error of a file without the operation and path, for messages that name the file already.
func Reason(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// IsFileName reports whether an argument that can be a file or a name is a file.
func IsFileName(arg string) bool {
	return arg == "-" || slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(arg))
}
