package manager

import (
	"math"
	"testing"

	"kanon.dev/kanon/rules/program"
)

// The account of all evaluations follows from GOMEMLIMIT, and always has as much as one
// evaluation may need: one that waits for that much would wait for ever.
func TestShareMemory(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ limit, size, reconcile int64 }{
		"none":   {limit: math.MaxInt64, reconcile: program.DefaultReconcileBytes},
		"large":  {limit: 1 << 30, size: 256 << 20, reconcile: program.DefaultReconcileBytes},
		"little": {limit: 100 << 20, size: 25 << 20, reconcile: 25 << 20},
	} {
		limits := program.Limits{ReconcileBytes: program.DefaultReconcileBytes}
		account := shareMemory(test.limit, &limits)
		if limits.ReconcileBytes != test.reconcile {
			t.Errorf("%s: %d bytes for a reconcile, want %d", name, limits.ReconcileBytes, test.reconcile)
		}
		if (account != nil) != (test.size > 0) {
			t.Errorf("%s: account %v", name, account)
		}
		if account != nil && (!account.TryAcquire(test.size) || account.TryAcquire(1)) {
			t.Errorf("%s: the account has not %d bytes", name, test.size)
		}
	}
}
