package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"kanon.dev/kanon/cmd/kanon/internal/commandline"
	"kanon.dev/kanon/cmd/kanon/internal/exit"
)

func main() {
	os.Exit(run())
}

// run runs the program and returns its exit code.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program immediately
	root := newRoot(commandline.ProgramName(os.Args[0]))
	root.SetArgs(os.Args[1:])
	err := root.ExecuteContext(ctx)
	if err != nil && !errors.Is(err, exit.ErrFindings) {
		for line := range strings.Lines(exit.Message(err)) { // a line for each of several independent errors
			fmt.Fprintln(os.Stderr, root.DisplayName()+":", strings.TrimSuffix(line, "\n"))
		}
	}
	return exit.Code(err)
}
