package main

import (
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return printVersion(cmd.OutOrStdout()) },
	}
}

func printVersion(w io.Writer) error {
	_, err := fmt.Fprintln(w, "kanon", version())
	return err
}

// release is the version that the linker was given (-X main.release=v0.1.0), as by the
// Dockerfile; empty in other builds.
//
//nolint:gochecknoglobals // The linker sets it.
var release string

// version is the release; without one the module's version, or the commit that the program
// was built from, as the Go toolchain recorded it.
func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version, commit, dirty := info.Main.Version, "", ""
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			commit = setting.Value
		case "vcs.modified":
			if setting.Value == "true" {
				dirty = " (modified)"
			}
		}
	}
	if version != "" && version != "(devel)" {
		return version
	}
	if commit == "" {
		return "devel"
	}
	return "devel " + commit + dirty
}
