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

// File is a text that may hold rules, definitions or objects.
type File struct {
	// Name is how messages call it: the path, or stdin.
	Name string
	Data []byte
	// Named is true for a file that was asked for by its own name, and false for one that was found in a directory.
	Named bool
}

// Read reads files, the YAML files below directories, and standard input, which is called -, each once.
// Errors name the file.
func Read(args []string, stdin io.Reader) ([]File, error) {
	return readFiles(args, stdin, ".yaml", ".yml")
}

// ReadSchemas is Read that takes the JSON files below directories as well: OpenAPI documents are JSON.
func ReadSchemas(args []string, stdin io.Reader) ([]File, error) {
	return readFiles(args, stdin, ".yaml", ".yml", ".json")
}

// SchemasFor reads the schemas that are named, as ReadSchemas does. Without any it reads the CustomResourceDefinitions, and the rules
// with the schema of a kind, that stand beside the files of args, so that a rule is checked by itself as with its directory. Nobody named these: one that cannot be read
// does not count, and what is wrong in it is not reported.
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
		if arg == "-" || err != nil || info.IsDir() { // what is wrong with the argument is told when it is read
			continue
		}
		entries, err := os.ReadDir(filepath.Dir(arg))
		if err != nil {
			continue // what may not be listed has no definitions for us
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

// mayDefine is false for a text that defines no kind, without parsing it.
func mayDefine(data []byte) bool {
	has := func(text string) bool { return bytes.Contains(data, []byte(text)) }
	return has("CustomResourceDefinition") || has(syntax.APIVersion) && has("schema")
}

func readFiles(args []string, stdin io.Reader, endings ...string) ([]File, error) {
	var inputs []File
	seen := map[string]bool{}
	add := func(path string, named bool) error {
		if seen[path] {
			return nil
		}
		seen[path] = true
		if path == "-" {
			data, err := io.ReadAll(stdin)
			inputs = append(inputs, File{Name: "stdin", Data: data, Named: true})
			return err
		}
		data, err := os.ReadFile(path)
		inputs = append(inputs, File{Name: path, Data: data, Named: named})
		return err
	}
	for _, arg := range args {
		files, err := FilesOf(arg, endings...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", arg, Reason(err))
		}
		for _, file := range files {
			if err := add(file, file == filepath.Clean(arg)); err != nil {
				return nil, fmt.Errorf("%s: %w", file, Reason(err))
			}
		}
	}
	return inputs, nil
}

// FilesOf lists the file that an argument names, or those below a directory whose
// names end in a certain way, in the order of their names. What is hidden is left
// out.
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

// Reason is an error of a file without the operation and the path, where a
// message names the file already.
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
