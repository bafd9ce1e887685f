package deploy_test

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

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
