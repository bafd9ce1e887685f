package main

import (
	"context"
	"os"
	"testing"
)

// TestMain lets the test binary stand in for the real one, so that tests can
// start components as child processes.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "--"+untilStdinCloses {
		os.Exit(run(context.Background(), os.Args))
	}
	os.Exit(m.Run())
}
