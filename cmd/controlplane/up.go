package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/spf13/cobra"
)

// newUpCommand makes the command that starts the whole control plane.
func newUpCommand() *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "up --kubeconfig FILE [-- COMMAND ARG...]",
		Short: "Start a control plane, print `ready`, and run until SIGINT or SIGTERM, or until COMMAND ends",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			bound, err := cmd.Flags().GetBool(untilStdinCloses)
			if err != nil {
				return fmt.Errorf("read flag: %w", err)
			}
			if bound {
				go func() {
					waitForEOF(os.Stdin)
					stop()
				}()
			}
			var failed error
			err = up(ctx, o, func() error {
				if len(args) > 0 {
					defer stop()
					failed = runProgram(ctx, args)
					return nil
				}
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "ready")
				return err
			})
			return errors.Join(failed, err)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

// runProgram runs a program, which gets a signal to end when ctx ends.
func runProgram(ctx context.Context, args []string) error {
	command := exec.CommandContext(ctx, args[0], args[1:]...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return nil
}

// up runs a control plane until ctx ends, which is success. It calls ready once everything serves, and ends if that
// fails. No process is left when it returns.
func up(ctx context.Context, o Options, ready func() error) (err error) {
	o, err = o.complete()
	if err != nil {
		return err
	}
	files, err := newLayout(o.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.remove()) }()

	running, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	plane, err := newPlane(files, o, fail)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plane.stop()) }()

	err = plane.start(running)
	if err == nil {
		err = ready()
	}
	if err == nil {
		<-running.Done()
		err = context.Cause(running)
	}
	if ctx.Err() != nil {
		return nil // ended as requested, perhaps during the start
	}
	return err
}
