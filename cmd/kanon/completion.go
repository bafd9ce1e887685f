package main

import (
	"github.com/spf13/cobra"

	"kanon.dev/kanon/cmd/kanon/internal/exit"
)

func newCompletionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a script for a shell that completes commands and flags",
		Long: `Print a script with which a shell completes commands, flags and their values: bash,
zsh, fish or powershell.

As a plugin of kubectl, put a file kubectl_complete-kanon into a directory of your
PATH, make it executable, and write into it:

  #!/bin/sh
  exec kubectl-kanon __complete "$@"`,
		Example: `  # For this session of bash, which needs the package bash-completion
  source <(kanon completion bash)

  # For each session of zsh
  kanon completion zsh > "${fpath[1]}/_kanon"

  # For each session of fish
  kanon completion fish > ~/.config/fish/completions/kanon.fish

  # For this session of PowerShell
  kanon completion powershell | Out-String | Invoke-Expression`,
		DisableFlagsInUseLine: true,
		ValidArgs:             []cobra.Completion{"bash", "zsh", "fish", "powershell"},
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef(cmd, "name a shell: bash, zsh, fish or powershell")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return cmd.Root().GenBashCompletionV2(out, true)
			case "zsh":
				return cmd.Root().GenZshCompletion(out)
			case "fish":
				return cmd.Root().GenFishCompletion(out, true)
			case "powershell":
				return cmd.Root().GenPowerShellCompletionWithDesc(out)
			default:
				return exit.Usagef(cmd, "there is no completion for %q; the shells are bash, zsh, fish and powershell", args[0])
			}
		},
	}
}
