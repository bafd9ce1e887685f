package rulefiles

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/cmd/kanon/internal/terminal"
	"kanon.dev/kanon/live/ruleset"
	"kanon.dev/kanon/offline/manifests"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
)

// Read reads and checks the rules in files without a cluster. Findings with errors have been printed when it returns.
func Read(cmd *cobra.Command, args, schemas []string, o rules.Options) (*manifests.Checked, *manifests.Kinds, error) {
	files, err1 := manifests.Read(args, cmd.InOrStdin())
	definitions, err2 := manifests.SchemasFor(args, schemas, cmd.InOrStdin())
	if err := errors.Join(err1, err2); err != nil {
		return nil, nil, exit.Usagef(cmd, "%w", err)
	}
	kinds, err := manifests.BuiltinKinds()
	if err != nil {
		return nil, nil, err
	}
	checked, err := Check(cmd, strings.Join(args, ", "), files, definitions, kinds, o)
	return checked, kinds, err
}

// AsGiven makes an error about duplicate objects in files a usage error.
func AsGiven(cmd *cobra.Command, err error) error {
	if twice := new(manifests.TwiceError); errors.As(err, &twice) {
		return exit.Usagef(cmd, "%w", err)
	}
	return err
}

// Check compiles the rules in files. where names the files in messages. It returns an error if there are no rules, or
// if they have errors, after printing the findings.
func Check(cmd *cobra.Command, where string, files, schemas []manifests.File, kinds *manifests.Kinds, o rules.Options) (*manifests.Checked, error) {
	checked, err := manifests.Check(cmd.Context(), files, schemas, kinds, o)
	switch {
	case err != nil:
		return nil, err
	case checked.Findings.HasErrors():
		return nil, Refused(cmd, checked.Findings)
	case len(checked.Programs) == 0:
		return nil, NoRules(where, files)
	}
	return checked, nil
}

// ofKro matches the apiVersion of kro.
var ofKro = regexp.MustCompile(`(?m)^apiVersion:\s*["']?kro\.run/`)

// NoRules is the error for files without rules. where names the files.
func NoRules(where string, files []manifests.File) error {
	for _, file := range files {
		if ofKro.Match(file.Data) {
			return fmt.Errorf("%s is a ResourceGraphDefinition of kro, and no rule: docs/migrating.md says how to write it as one", file.Name)
		}
	}
	return fmt.Errorf("there are no rules in %s", where)
}

// Decoded lists the rules in a file for shell completion; none if it cannot be read.
func Decoded(file string) []*syntax.Rule {
	files, err := manifests.Read([]string{file}, strings.NewReader(""))
	if err != nil {
		return nil
	}
	var all []*syntax.Rule
	for _, file := range files {
		docs, _ := syntax.Decode(file.Name, file.Data)
		all = append(append(all, docs.Rules...), docs.Partial...)
	}
	return all
}

// Add adds the rules in files to a set. Without names, it does nothing.
func Add(cmd *cobra.Command, set *ruleset.Set, names []string, kinds *manifests.Kinds, o rules.Options) error {
	files, err := manifests.Read(names, cmd.InOrStdin())
	switch {
	case err != nil:
		return exit.Usagef(cmd, "%w", err)
	case len(names) == 0:
		return nil
	}
	checked, err := Check(cmd, strings.Join(names, ", "), files, nil, kinds, o)
	if err == nil {
		set.AddFiles(checked)
	}
	return err
}

// Refused prints findings with errors, and returns the error that ends the command.
func Refused(cmd *cobra.Command, findings diagnostic.Findings) error {
	printer := diagnostic.Printer{Color: terminal.HasColors(cmd.ErrOrStderr())}
	return errors.Join(exit.ErrFindings, printer.Print(cmd.ErrOrStderr(), findings))
}
