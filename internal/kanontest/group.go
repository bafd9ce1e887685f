package kanontest

import (
	"os/exec"
	"syscall"
	"time"
)

// EndTogether has a command, made by exec.CommandContext, run in a process group of its own. When its context ends,
// everything that it started in the group is killed with it; otherwise its children would survive.
func EndTogether(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(command)
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = 10 * time.Second // a process that left the group may keep the output open
}
