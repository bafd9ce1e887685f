package main

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// programName is how users call the program: kubectl runs a program called kubectl-kanon as "kubectl kanon".
func programName(path string) string {
	if strings.TrimSuffix(filepath.Base(path), ".exe") == "kubectl-kanon" {
		return "kubectl kanon"
	}
	return "kanon"
}

// rename has the help texts call the program by another name.
func rename(root *cobra.Command, name string) {
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
