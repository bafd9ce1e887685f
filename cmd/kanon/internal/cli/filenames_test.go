package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestFilenames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a.yaml", "b.yml", "c.txt", "below/d.yaml"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		flags, args []string
		want, err   string
	}{
		"arguments alone":      {nil, []string{"x.yaml"}, "x.yaml", ""},
		"a file after them":    {[]string{"-f", dir + "/a.yaml"}, []string{"x.yaml"}, "x.yaml a.yaml", ""},
		"standard input":       {[]string{"-f", "-"}, nil, "-", ""},
		"a directory":          {[]string{"-f", dir}, nil, "a.yaml b.yml", ""},
		"with all below":       {[]string{"-f", dir, "-R"}, nil, ".", ""},
		"one without files":    {[]string{"-f", filepath.Join(dir, "below"), "-f", dir + "/none"}, nil, "below/d.yaml none", ""},
		"-R without -f":        {[]string{"-R"}, []string{"x.yaml"}, "", "name one"},
		"nothing in the place": {[]string{"-f", t.TempDir()}, nil, "", "has no such file in it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var f Filenames
			cmd := &cobra.Command{Use: "validate"}
			f.Add(cmd, "rules")
			if err := cmd.ParseFlags(tt.flags); err != nil {
				t.Fatal(err)
			}
			all, err := f.After(cmd, tt.args)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("%v, want %q", err, tt.err)
			}
			for i := range all {
				if path, err := filepath.Rel(dir, all[i]); err == nil && filepath.IsAbs(all[i]) {
					all[i] = path
				}
			}
			if got := strings.Join(all, " "); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}
