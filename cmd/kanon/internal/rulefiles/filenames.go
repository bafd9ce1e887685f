package rulefiles

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/offline/manifests"
)

// Filenames are the flags -f and -R, as kubectl has them: files and directories with rules, beside those that arguments name.
type Filenames struct {
	// Only says which files of a directory count; nil for all that are YAML.
	Only func(path string) bool

	names     []string
	recursive bool
}

// Add declares the flags. what is what the files have.
func (f *Filenames) Add(cmd *cobra.Command, what string) {
	cmd.Flags().StringArrayVarP(&f.names, "filename", "f", nil, "file or directory with "+what+"; - is standard input; repeatable")
	cmd.Flags().BoolVarP(&f.recursive, "recursive", "R", false, "read the directories of -f with all below them")
}

// Given reports whether -f names something.
func (f *Filenames) Given() bool { return len(f.names) > 0 }

// Names are what -f names.
func (f *Filenames) Names() []string { return f.names }

// After are the files that arguments name, and those of -f. Of a directory, -f means the YAML files in it, and with -R all below it, as
// an argument does.
func (f *Filenames) After(cmd *cobra.Command, args []string) ([]string, error) {
	all := slices.Clone(args)
	if f.recursive && !f.Given() {
		return nil, exit.Usagef(cmd, "--recursive is about the directories of --filename: name one")
	}
	for _, name := range f.names {
		info, err := os.Stat(name)
		if name == "-" || err != nil || !info.IsDir() || f.recursive { // who reads it says what is wrong with it
			all = append(all, name)
			continue
		}
		files, err := inDirectory(name)
		if f.Only != nil {
			files = slices.DeleteFunc(files, func(path string) bool { return !f.Only(path) })
		}
		switch {
		case err != nil:
			return nil, exit.Usagef(cmd, "--filename %s: %w", name, manifests.Reason(err))
		case len(files) == 0:
			return nil, exit.Usagef(cmd, "--filename %s has no such file in it; -R reads what is below it as well", name)
		}
		all = append(all, files...)
	}
	return all, nil
}

// Split are the files with rules, and the arguments after them, of a command that takes a file with rules as its first argument where -f
// names none.
func (f *Filenames) Split(cmd *cobra.Command, args []string) (files, rest []string, err error) {
	if !f.Given() && len(args) > 0 {
		files, rest = args[:1], args[1:]
	} else {
		rest = args
	}
	files, err = f.After(cmd, files)
	return files, rest, err
}

// Run calls a command with the files that arguments and flags name.
func (f *Filenames) Run(command func(cmd *cobra.Command, files []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		files, err := f.After(cmd, args)
		if err != nil {
			return err
		}
		return command(cmd, files)
	}
}

// inDirectory are the YAML files in a directory, without those below it.
func inDirectory(dir string) ([]string, error) {
	below, err := manifests.FilesOf(dir, ".yaml", ".yml")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return slices.DeleteFunc(below, func(path string) bool { return filepath.Dir(path) != filepath.Clean(dir) }), nil
}
