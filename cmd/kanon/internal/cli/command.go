package cli

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kanon.dev/kanon/rules/diagnostic"
)

// KnownCommand rejects arguments of the root command, as they are unknown commands.
func KnownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	near := ""
	if names := root.SuggestionsFor(args[0]); len(names) > 0 {
		if nearest, ok := diagnostic.Nearest(args[0], names); ok { // otherwise the argument is a prefix of the names
			names[0] = nearest
		}
		near = fmt.Sprintf(" (did you mean %q?)", names[0])
	}
	return Usagef(root, "there is no command %q%s", args[0], near)
}

// FlagError makes an error of a flag a usage error, without the names of Go functions in it.
func FlagError(cmd *cobra.Command, err error) error {
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return Usagef(cmd, "%w", err)
	}
	format, cause := "--%s %q: %w", invalid.Unwrap()
	if errors.As(cause, new(*strconv.NumError)) {
		cause = valueError("is not a whole number")
	}
	if errors.As(cause, new(valueError)) {
		format = "--%s %q %w"
	}
	return Usagef(cmd, format, invalid.GetFlag().Name, invalid.GetValue(), cause)
}

// valueError is what is wrong with the value of a flag, as the end of a sentence.
type valueError string

func (e valueError) Error() string { return string(e) }

// Choice is a flag that takes one of several values, such as --output. The value that it is for has the default.
type Choice struct {
	Name, Short, Usage string
	Values             []string
}

// Add declares the flag and its completions.
func (c Choice) Add(cmd *cobra.Command, value *string) {
	cmd.Flags().VarP(choiceValue{value, c.Values}, c.Name, c.Short, c.Usage)
	CompleteFlag(cmd, c.Name, func() []cobra.Completion { return c.Values })
}

// choiceValue implements pflag.Value.
type choiceValue struct {
	value  *string
	values []string
}

// Set implements pflag.Value.
func (c choiceValue) Set(value string) error {
	if !slices.Contains(c.values, value) {
		return valueError("is none of " + strings.Join(c.values, ", "))
	}
	*c.value = value
	return nil
}

// String implements pflag.Value.
func (c choiceValue) String() string { return *c.value }

// Type implements pflag.Value.
func (c choiceValue) Type() string { return "string" }

// positive is a number or a duration that must be more than 0.
type positive struct{ pflag.Value }

// Set implements pflag.Value.
func (p positive) Set(value string) error {
	if err := p.Value.Set(value); err != nil {
		return err
	}
	if is := p.String(); is == "0" || is == "0s" || strings.HasPrefix(is, "-") {
		return valueError("must be more than 0")
	}
	return nil
}

// AddWait declares --wait and --timeout.
func AddWait(cmd *cobra.Command, wait *bool, timeout *time.Duration, usage string) {
	cmd.Flags().BoolVar(wait, "wait", true, usage)
	cmd.Flags().DurationVar(timeout, "timeout", *timeout, "how long to wait")
	flag := cmd.Flags().Lookup("timeout")
	flag.Value = positive{flag.Value}
}

// NoArguments rejects arguments that are not flags.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usagef(cmd, "unexpected argument %q", args[0])
	}
	return nil
}

// ProgramName is the program's name for users: kubectl runs kubectl-kanon as "kubectl kanon".
func ProgramName(path string) string {
	if strings.TrimSuffix(filepath.Base(path), ".exe") == "kubectl-kanon" {
		return "kubectl kanon"
	}
	return "kanon"
}

// Rename replaces the program's name in the help texts.
func Rename(root *cobra.Command, name string) {
	if name == root.Name() {
		return
	}
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	var commands []string
	for _, cmd := range root.Commands() {
		commands = append(commands, cmd.Name())
	}
	call := regexp.MustCompile(`\b` + root.Name() + ` (` + strings.Join(commands, "|") + `)\b`)
	for _, cmd := range append(root.Commands(), root) {
		cmd.Long = call.ReplaceAllString(cmd.Long, name+" $1")
		cmd.Example = call.ReplaceAllString(cmd.Example, name+" $1")
	}
}

// CompleteFlag registers the completions of an existing flag.
func CompleteFlag(cmd *cobra.Command, name string, values func() []cobra.Completion) {
	CompleteFlagBy(cmd, name, func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return values(), cobra.ShellCompDirectiveNoFileComp
	})
}

// CompleteFlagBy registers a completion function for an existing flag.
func CompleteFlagBy(cmd *cobra.Command, name string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
		panic(fmt.Sprintf("complete --%s of %s: %v", name, cmd.Name(), err)) // no such flag, or registered twice
	}
}

// groupAnnotation is the annotation with the heading of a flag, if that is not "Flags".
const groupAnnotation = "kanon.dev/group"

// AddGroup adds flags under a heading of their own. Existing flags stay as they are.
func AddGroup(flags *pflag.FlagSet, heading string, declare func(*pflag.FlagSet)) {
	group := pflag.NewFlagSet(heading, pflag.ContinueOnError)
	declare(group)
	group.VisitAll(func(f *pflag.Flag) { f.Annotations = map[string][]string{groupAnnotation: {heading}} })
	flags.AddFlagSet(group)
}

// FlagGroup is the heading of a flag; empty for "Flags".
func FlagGroup(f *pflag.Flag) string {
	if group := f.Annotations[groupAnnotation]; len(group) > 0 {
		return group[0]
	}
	return ""
}

// WriteUsage writes cobra's usage of a command, followed by the flags with a heading of their own.
func WriteUsage(cmd *cobra.Command) error {
	groups := make(map[string]*pflag.FlagSet)
	var flags []*pflag.Flag
	cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f) })
	for _, f := range flags {
		heading := FlagGroup(f)
		if heading == "" || f.Hidden {
			continue
		}
		if groups[heading] == nil {
			groups[heading] = pflag.NewFlagSet(heading, pflag.ContinueOnError)
		}
		shown := *f
		groups[heading].AddFlag(&shown)
		f.Hidden = true // from cobra
		defer func() { f.Hidden = false }()
	}
	err := new(cobra.Command).UsageFunc()(cmd)
	for _, heading := range slices.Sorted(maps.Keys(groups)) {
		_, failed := fmt.Fprintf(cmd.OutOrStderr(), "\n%s:\n%s", heading, groups[heading].FlagUsages())
		err = errors.Join(err, failed)
	}
	return err
}

// AddCommands adds commands under a heading of their own. The help lists them by name.
func AddCommands(cmd *cobra.Command, heading string, commands ...*cobra.Command) {
	cmd.AddGroup(&cobra.Group{ID: heading, Title: heading + ":"})
	for _, sub := range commands {
		sub.GroupID = heading
	}
	cmd.AddCommand(commands...)
}
