package cli

import (
	"io"
	"os"
	"testing"
)

func TestColors(t *testing.T) {
	device, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0) // a terminal
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = device.Close() })
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	for name, test := range map[string]struct {
		to                   io.Writer
		term, noColor        string
		terminal, wantColors bool
	}{
		"terminal":         {device, "xterm", "", true, true},
		"NO_COLOR":         {device, "xterm", "1", true, false},
		"terminal without": {device, "dumb", "", true, false},
		"file":             {file, "xterm", "", false, false},
		"anything else":    {io.Discard, "xterm", "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TERM", test.term)
			t.Setenv("NO_COLOR", test.noColor)
			if got := IsTerminal(test.to); got != test.terminal {
				t.Errorf("a terminal: %t, want %t", got, test.terminal)
			}
			if got := HasColors(test.to); got != test.wantColors {
				t.Errorf("colours: %t, want %t", got, test.wantColors)
			}
		})
	}
}
