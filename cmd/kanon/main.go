package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	os.Exit(run())
}

// run is main with an exit code: 0 when all went well, 1 when the command
// failed, 2 when it was called wrongly.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	root := newRoot()
	root.SetArgs(os.Args[1:])
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if errors.Is(err, errFindings) {
		return 1
	}
	fmt.Fprintln(os.Stderr, "kanon:", err)
	if isUsage(err) {
		return 2
	}
	return 1
}
