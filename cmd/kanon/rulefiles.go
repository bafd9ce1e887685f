package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/manifests"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/diagnostic"
)

// readRules reads the rules in files against the kinds of Kubernetes and of definitions, for commands that need no cluster. An
// error about the rules has been printed.
func readRules(cmd *cobra.Command, args, schemas []string, o rules.Options) (*manifests.Checked, *manifests.Kinds, error) {
	files, err1 := manifests.Read(args, cmd.InOrStdin())
	definitions, err2 := manifests.SchemasFor(args, schemas, cmd.InOrStdin())
	if err := errors.Join(err1, err2); err != nil {
		return nil, nil, usageErrorf(cmd, "%w", err)
	}
	kinds, err := manifests.BuiltinKinds()
	if err != nil {
		return nil, nil, err
	}
	checked, err := checkRules(cmd, strings.Join(args, ", "), files, definitions, kinds, o)
	return checked, kinds, err
}

// checkRules compiles the rules in files, which a message calls where. There is at least one rule. If they have errors it prints the findings.
func checkRules(cmd *cobra.Command, where string, files, schemas []manifests.File, kinds *manifests.Kinds, o rules.Options) (*manifests.Checked, error) {
	checked, err := manifests.Check(cmd.Context(), files, schemas, kinds, o)
	switch {
	case err != nil:
		return nil, err
	case checked.Findings.HasErrors():
		printer := diagnostic.Printer{Color: hasColors(cmd.ErrOrStderr())}
		return nil, errors.Join(errFindings, printer.Print(cmd.ErrOrStderr(), checked.Findings))
	case len(checked.Programs) == 0:
		return nil, fmt.Errorf("there are no rules in %s", where)
	}
	return checked, nil
}
