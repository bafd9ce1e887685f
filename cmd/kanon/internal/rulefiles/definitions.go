package rulefiles

import (
	"context"
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/kinds/definitions/keeper"
	"kanon.dev/kanon/offline/manifests"
	"kanon.dev/kanon/rules/diagnostic"
)

// RefusedDefinitions reports the definitions in files that Kanon would not apply to a cluster.
func RefusedDefinitions(ctx context.Context, config *rest.Config, checked *manifests.Checked, namespace string) (diagnostic.Findings, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("set up the connection to the cluster: %w", err)
	}
	return checked.RefusedDefinitions(ctx, keeper.Client{Interface: client}, namespace, plan.IsStatusManager)
}
