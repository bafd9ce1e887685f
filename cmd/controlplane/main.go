package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	os.Exit(run(context.Background(), os.Args))
}

// run executes one command line and returns the exit code. args[0] is the name under which the binary was called. If
// that is the name of a component, run runs the component.
func run(ctx context.Context, args []string) int {
	root := newRoot() //nolint:contextcheck // cobra passes the context on
	line := args[1:]
	if name := filepath.Base(args[0]); isComponent(name) {
		line = append([]string{name}, line...)
	}
	root.SetArgs(line)
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		return 1
	}
	return 0
}
