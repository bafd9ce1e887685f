package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/cmd/kanon/internal/cli"
)

// initOptions are the flags of kanon init.
type initOptions struct {
	shape, group, kind, dir string
}

func newInitCommand() *cobra.Command {
	o := initOptions{shape: manifests.ShapeKind}
	cmd := &cobra.Command{
		Use:   "init NAME",
		Short: "Make a folder with a new rule",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef(cmd, "name the rule, such as web-app")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.init(cmd, args[0]) },
	}
	flags := cmd.Flags()
	shapes := manifests.ScaffoldShapes()
	cli.Choice{Name: "shape", Usage: "what the rule is for: " + strings.Join(shapes, ", "), Values: shapes}.Add(cmd, &o.shape)
	flags.StringVar(&o.group, "group", "example.com", "API group of the kind, or what the label begins with")
	flags.StringVar(&o.kind, "kind", "", "the kind; default: NAME in camel case, WebApp for web-app")
	flags.StringVar(&o.dir, "dir", "", "folder to write to; default: NAME")
	return cmd
}

func (o *initOptions) init(cmd *cobra.Command, name string) error {
	files, err := manifests.ScaffoldFiles(o.shape, manifests.ScaffoldNames{Name: name, Kind: o.kind, Group: o.group})
	if err != nil {
		return cli.Usagef(cmd, "%w", err)
	}
	dir := o.dir
	if dir == "" {
		dir = name
	}
	for _, file := range files {
		if _, err := os.Lstat(filepath.Join(dir, file.Name)); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s exists already, and nothing was written: choose another folder with --dir", filepath.Join(dir, file.Name))
		}
	}
	out := cmd.OutOrStdout()
	for _, file := range files {
		path := filepath.Join(dir, file.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // as mkdir does
			return fmt.Errorf("%s: %w", filepath.Dir(path), manifests.Reason(err))
		}
		if err := os.WriteFile(path, file.Data, 0o644); err != nil { //nolint:gosec // as an editor does
			return fmt.Errorf("%s: %w", path, manifests.Reason(err))
		}
		if _, err := fmt.Fprintln(out, path); err != nil {
			return fmt.Errorf("print the files: %w", err)
		}
	}
	_, err = fmt.Fprintf(out, `
Check it, test it, and see what it makes:
  kanon validate %[1]s
  kanon test %[1]s
  kanon render %[1]s/rule.yaml %[1]s/parent.yaml
`, dir)
	return err
}
