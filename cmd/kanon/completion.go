package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kanon.dev/kanon/report"
	"kanon.dev/kanon/rules/diagnostic"
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
				return usageErrorf(cmd, "name a shell: bash, zsh, fish or powershell")
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
				return usageErrorf(cmd, "there is no completion for %q; the shells are bash, zsh, fish and powershell", args[0])
			}
		},
	}
}

// completeFlag gives the values of a flag that there is.
func completeFlag(cmd *cobra.Command, name string, values func() []cobra.Completion) {
	err := cmd.RegisterFlagCompletionFunc(name, func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return values(), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(fmt.Sprintf("complete --%s of %s: %v", name, cmd.Name(), err)) // the flag does not exist, or twice
	}
}

func completeFormats() []cobra.Completion {
	var values []cobra.Completion
	for _, format := range report.Formats() {
		values = append(values, string(format))
	}
	return values
}

func completeCodes() []cobra.Completion {
	var values []cobra.Completion
	for _, info := range diagnostic.Codes() {
		values = append(values, cobra.CompletionWithDesc(string(info.Code), info.Title))
	}
	return values
}

// complete gives the values of the flags that name parts of the kubeconfig.
func (c *clusterFlags) complete(cmd *cobra.Command) {
	for flag, names := range map[string]func(*clientcmdapi.Config) []string{
		"context": func(config *clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(config.Contexts)) },
		"cluster": func(config *clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(config.Clusters)) },
		"user":    func(config *clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(config.AuthInfos)) },
	} {
		completeFlag(cmd, flag, func() []cobra.Completion {
			config, err := c.loading().Load()
			if err != nil {
				return nil // the command will say what is wrong with it
			}
			return names(config)
		})
	}
}
