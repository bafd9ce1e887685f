package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"kanon.dev/kanon/cmd/kanon/internal/cli"
)

func main() {
	os.Exit(run())
}

// run runs the program and returns its exit code.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program immediately
	root := newRoot(cli.ProgramName(os.Args[0]))
	root.SetArgs(os.Args[1:])
	cmd, err := root.ExecuteContextC(ctx)
	err = cli.OfCluster(cmd, err)
	if err != nil && !errors.Is(err, cli.ErrFindings) {
		for line := range strings.Lines(cli.ErrorMessage(err)) { // a line for each of several independent errors
			fmt.Fprintln(os.Stderr, root.DisplayName()+":", strings.TrimSuffix(line, "\n"))
		}
	}
	return cli.ExitCode(err)
}
