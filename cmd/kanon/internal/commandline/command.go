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

// HelpCommand is cobra's help command, with an error where that prints the
// whole help for a command that does not exist.
func HelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Explain a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return KnownCommand(cmd.Root(), args)
			}
			about.InitDefaultHelpFlag() // cobra does so only for the command that runs
			return about.Help()
		},
	}
}

// KnownCommand refuses arguments of the root command, which are commands that
// there are not.
func KnownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	near := ""
	if names := root.SuggestionsFor(args[0]); len(names) > 0 {
		if nearest, ok := diagnostic.Nearest(args[0], names); ok { // else it is the beginning of some
			names[0] = nearest
		}
		near = fmt.Sprintf(" (did you mean %q?)", names[0])
	}
	return exit.Usagef(root, "there is no command %q%s", args[0], near)
}

// FlagError makes an error of a flag one of usage. The names of Go's functions
// that refused a value are left out.
func FlagError(cmd *cobra.Command, err error) error {
	if number := new(strconv.NumError); errors.As(err, &number) {
		return exit.Usagef(cmd, "%s: not a whole number", strings.TrimSuffix(err.Error(), ": "+number.Error()))
	}
	return exit.Usagef(cmd, "%w", err)
}

// NoArguments refuses arguments that are not flags.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return exit.Usagef(cmd, "unexpected argument %q", args[0])
	}
	return nil
}

// ProgramName is how users call the program: kubectl runs a program called kubectl-kanon as "kubectl kanon".
func ProgramName(path string) string {
	if strings.TrimSuffix(filepath.Base(path), ".exe") == "kubectl-kanon" {
		return "kubectl kanon"
	}
	return "kanon"
}

// Rename has the help texts call the program by another name.
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

// CompleteFlag gives the values of a flag that the command has.
func CompleteFlag(cmd *cobra.Command, name string, values func() []cobra.Completion) {
	CompleteFlagBy(cmd, name, func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return values(), cobra.ShellCompDirectiveNoFileComp
	})
}

// CompleteFlagBy has a function complete a flag that the command has.
func CompleteFlagBy(cmd *cobra.Command, name string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
		panic(fmt.Sprintf("complete --%s of %s: %v", name, cmd.Name(), err)) // the flag does not exist, or twice
	}
}
