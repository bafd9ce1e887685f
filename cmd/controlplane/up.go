package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

// newUpCommand makes the command that starts the whole control plane.
func newUpCommand() *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "up --kubeconfig FILE",
		Short: "Start a control plane, print `ready`, and run until SIGINT or SIGTERM",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
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
			return up(ctx, o, func() error {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "ready")
				return err
			})
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
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
