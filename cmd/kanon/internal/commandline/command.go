package commandline

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/rules/diagnostic"
)

// HelpCommand is cobra's help command, except that it returns an error for an unknown command instead of the whole
// help.
func HelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Explain a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return KnownCommand(cmd.Root(), args)
			}
			about.InitDefaultHelpFlag() // cobra adds it only to the command that runs
			return about.Help()
		},
	}
}

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
	return exit.Usagef(root, "there is no command %q%s", args[0], near)
}

// FlagError makes an error of a flag a usage error, without the names of Go functions in it.
func FlagError(cmd *cobra.Command, err error) error {
	if number := new(strconv.NumError); errors.As(err, &number) {
		return exit.Usagef(cmd, "%s: not a whole number", strings.TrimSuffix(err.Error(), ": "+number.Error()))
	}
	return exit.Usagef(cmd, "%w", err)
}

// NoArguments rejects arguments that are not flags.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return exit.Usagef(cmd, "unexpected argument %q", args[0])
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
