package apply

import (
	"os"
	"testing"

	"kanon.dev/kanon/internal/controlplanetest"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m)) }
