package deploy_test

import (
	"debug/elf"
	"os"
	"regexp"
	"strconv"
	"testing"

	"kanon.dev/kanon/internal/kanontest"
)

// TestProgramIsStatic: the image holds nothing but the program, so there is no
// loader and no library that it could use.
func TestProgramIsStatic(t *testing.T) {
	program, err := elf.Open(kanontest.Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = program.Close() }()
	for _, part := range program.Progs {
		if part.Type == elf.PT_INTERP {
			t.Error("the program asks for a dynamic loader")
		}
	}
	libraries, err := program.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	if len(libraries) > 0 {
		t.Errorf("the program needs the libraries %v", libraries)
	}
}

// TestImageIsNotRunByRoot: Kubernetes can only tell that a user is not root by a
// number.
func TestImageIsNotRunByRoot(t *testing.T) {
	dockerfile, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	users := regexp.MustCompile(`(?m)^USER (\S+?)(:\S+)?$`).FindAllSubmatch(dockerfile, -1)
	if len(users) == 0 {
		t.Fatal("the Dockerfile names no USER")
	}
	last := string(users[len(users)-1][1])
	if number, err := strconv.Atoi(last); err != nil || number == 0 {
		t.Errorf("the user of the image is %q, want a number other than 0", last)
	}
}
