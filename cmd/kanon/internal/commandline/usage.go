package commandline

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// groupAnnotation is the annotation with the heading of a flag, if that is not "Flags".
const groupAnnotation = "kanon.dev/group"

// AddGroup adds flags under a heading of their own. Existing flags stay as they are.
func AddGroup(flags *pflag.FlagSet, heading string, declare func(*pflag.FlagSet)) {
	group := pflag.NewFlagSet(heading, pflag.ContinueOnError)
	declare(group)
	group.VisitAll(func(f *pflag.Flag) { f.Annotations = map[string][]string{groupAnnotation: {heading}} })
	flags.AddFlagSet(group)
}

// Group is the heading of a flag; empty for "Flags".
func Group(f *pflag.Flag) string {
	if group := f.Annotations[groupAnnotation]; len(group) > 0 {
		return group[0]
	}
	return ""
}

// Usage writes the usage of a command like cobra, but with grouped flags. It uses no template, for the reason in
// ARCHITECTURE.md.
func Usage(cmd *cobra.Command) error {
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
		for _, group := range cmd.Groups() {
			listCommands(&b, group.Title, cmd, group.ID)
		}
		listCommands(&b, "Other", cmd, "")
	}
	general, groups := flagGroups(cmd)
	b.WriteString("\n\nFlags:\n" + strings.TrimRight(general.FlagUsages(), " \n")) // never empty: every command has --help
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

// AddCommands adds commands under a heading of their own. The help lists them by name.
func AddCommands(cmd *cobra.Command, heading string, commands ...*cobra.Command) {
	cmd.AddGroup(&cobra.Group{ID: heading, Title: heading})
	for _, sub := range commands {
		sub.GroupID = heading
	}
	cmd.AddCommand(commands...)
}

// listCommands writes the commands of a group, with their descriptions.
func listCommands(b *strings.Builder, heading string, cmd *cobra.Command, group string) {
	if len(cmd.Groups()) == 0 {
		heading = "Available commands"
	}
	fmt.Fprintf(b, "\n\n%s:", heading)
	for _, sub := range cmd.Commands() {
		if sub.GroupID == group && (sub.IsAvailableCommand() || sub.Name() == "help") {
			fmt.Fprintf(b, "\n  %-*s %s", sub.NamePadding(), sub.Name(), sub.Short)
		}
	}
}

// flagGroups groups the flags of a command by heading. general are those without a heading of their own.
func flagGroups(cmd *cobra.Command) (general *pflag.FlagSet, groups map[string]*pflag.FlagSet) {
	general, groups = pflag.NewFlagSet("", pflag.ContinueOnError), make(map[string]*pflag.FlagSet)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		group := Group(f)
		if group == "" {
			general.AddFlag(f)
			return
		}
		if groups[group] == nil {
			groups[group] = pflag.NewFlagSet(group, pflag.ContinueOnError)
		}
		groups[group].AddFlag(f)
	})
	return general, groups
}
