package engine

import (
	"context"
	"errors"
	"fmt"

	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/restmapping"
)

// checkAbsent fails unless the cluster is known not to have the kinds that the rule's
// children had and that it did not show when the operator was planned: with a kind, all
// its objects went. A kind that is served in other versions has them still.
func (e *Engine) checkAbsent(ctx context.Context, op *operator.Operator) error {
	for _, gvk := range op.Absent {
		_, err := e.options.Mapper.Kind(ctx, gvk)
		if err == nil {
			e.inbox.Notify() // which plans the rule again
			return fmt.Errorf("the cluster has the kind %s again, and the rule is about to read its objects", gvk)
		}
		unknown, ok := errors.AsType[*restmapping.UnknownKindError](err)
		if !ok || len(unknown.Served) > 0 && !op.HasKind(gvk.GroupKind()) {
			return err
		}
	}
	return nil
}
