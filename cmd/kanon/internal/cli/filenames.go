package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/author/manifests"
)

// Filenames are the flags -f and -R, as in kubectl: files and directories with rules, in addition to those in
// arguments.
type Filenames struct {
	// Only selects the files of a directory; nil: all YAML files.
	Only func(path string) bool

	names     []string
	recursive bool
}

// Add declares the flags. what describes the content of the files.
func (f *Filenames) Add(cmd *cobra.Command, what string) {
	cmd.Flags().StringArrayVarP(&f.names, "filename", "f", nil, "file or directory with "+what+"; - is standard input; repeatable")
	cmd.Flags().BoolVarP(&f.recursive, "recursive", "R", false, "read the directories of -f with all below them")
}

// Given reports whether -f was given.
func (f *Filenames) Given() bool { return len(f.names) > 0 }

// After lists the files in arguments, followed by those of -f. A directory of -f stands for the YAML files in it, or
// with -R, as in arguments, for all files below it.
func (f *Filenames) After(cmd *cobra.Command, args []string) ([]string, error) {
	all := slices.Clone(args)
	if f.recursive && !f.Given() {
		return nil, Usagef(cmd, "--recursive is about the directories of --filename: name one")
	}
	for _, name := range f.names {
		info, err := os.Stat(name)
		if name == "-" || err != nil || !info.IsDir() || f.recursive { // reading it reports any error
			all = append(all, name)
			continue
		}
		files, err := inDirectory(name)
		if f.Only != nil {
			files = slices.DeleteFunc(files, func(path string) bool { return !f.Only(path) })
		}
		switch {
		case err != nil:
			return nil, Usagef(cmd, "--filename %s: %w", name, manifests.Reason(err))
		case len(files) == 0:
			return nil, Usagef(cmd, "--filename %s has no such file in it; -R reads what is below it as well", name)
		}
		all = append(all, files...)
	}
	return all, nil
}

// Split splits arguments into files and the rest, for a command whose first argument is a file with rules unless -f
// names one.
func (f *Filenames) Split(cmd *cobra.Command, args []string) (files, rest []string, err error) {
	if !f.Given() && len(args) > 0 {
		files, rest = args[:1], args[1:]
	} else {
		rest = args
	}
	files, err = f.After(cmd, files)
	return files, rest, err
}

// Check checks the rules in the files of -f against a cluster. Without -f, there are none.
func (f *Filenames) Check(cmd *cobra.Command, there *Live) (*manifests.Checked, error) {
	names, err := f.After(cmd, nil)
	if err != nil || len(names) == 0 {
		return &manifests.Checked{}, err
	}
	files, err := manifests.Read(names, cmd.InOrStdin())
	if err != nil {
		return nil, Usagef(cmd, "%w", err)
	}
	kinds, err := there.Kinds(cmd.Context())
	if err != nil {
		return nil, err
	}
	return CheckRules(cmd, strings.Join(names, ", "), files, nil, kinds, there.Flags.Options())
}

// Run makes a cobra command function that is called with the files in arguments and flags.
func (f *Filenames) Run(command func(cmd *cobra.Command, files []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		files, err := f.After(cmd, args)
		if err != nil {
			return err
		}
		return command(cmd, files)
	}
}

// inDirectory lists the YAML files in a directory, without subdirectories.
func inDirectory(dir string) ([]string, error) {
	below, err := manifests.FilesOf(dir, ".yaml", ".yml")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return slices.DeleteFunc(below, func(path string) bool { return filepath.Dir(path) != filepath.Clean(dir) }), nil
}
