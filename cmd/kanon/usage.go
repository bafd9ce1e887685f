package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// groupAnnotation is the heading of a flag in a help text, where that is not "Flags".
const groupAnnotation = "kanon.dev/group"

// addGroup adds flags that a help text has under a heading of their own. A flag that exists already is left as it is.
func addGroup(flags *pflag.FlagSet, heading string, declare func(*pflag.FlagSet)) {
	group := pflag.NewFlagSet(heading, pflag.ContinueOnError)
	declare(group)
	group.VisitAll(func(f *pflag.Flag) { f.Annotations = map[string][]string{groupAnnotation: {heading}} })
	flags.AddFlagSet(group)
}

// usage writes the usage of a command as cobra does, with the groups of flags apart. A template would do it in fewer lines;
// newRoot says why there is none.
func usage(cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:")
	if cmd.Runnable() {
		b.WriteString("\n  " + cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\n  " + cmd.CommandPath() + " [command]")
	}
	if cmd.HasExample() {
		b.WriteString("\n\nExamples:\n" + cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\n\nAvailable Commands:")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(&b, "\n  %-*s %s", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	groups := flagGroups(cmd)
	for _, heading := range slices.Sorted(maps.Keys(groups)) {
		b.WriteString("\n\n" + heading + ":\n" + strings.TrimRight(groups[heading].FlagUsages(), " \n"))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n\nUse \"%s [command] --help\" for more information about a command.", cmd.CommandPath())
	}
	if _, err := io.WriteString(cmd.OutOrStderr(), b.String()+"\n"); err != nil {
		return fmt.Errorf("print the usage: %w", err)
	}
	return nil
}

// flagGroups are the flags of a command by their headings.
func flagGroups(cmd *cobra.Command) map[string]*pflag.FlagSet {
	groups := make(map[string]*pflag.FlagSet)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		heading := "Flags"
		if group := f.Annotations[groupAnnotation]; len(group) > 0 {
			heading = group[0]
		}
		if groups[heading] == nil {
			groups[heading] = pflag.NewFlagSet(heading, pflag.ContinueOnError)
		}
		groups[heading].AddFlag(f)
	})
	return groups
}
