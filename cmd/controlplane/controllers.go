package main

import (
	"fmt"
	"slices"
	"strings"

	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
)

// controllerSuffix is the suffix of all controllers' names. It may be left out.
const controllerSuffix = "-controller"

// defaultControllers are the controllers that namespaces, workloads and Services need.
func defaultControllers() []string {
	return []string{
		names.GarbageCollectorController,
		names.NamespaceController,
		names.DeploymentController,
		names.ReplicaSetController,
		names.StatefulSetController,
		names.DaemonSetController,
		names.JobController,
		names.CronJobController,
		names.TTLAfterFinishedController,
		names.ServiceAccountController,
		names.ServiceAccountTokenController,
		names.ResourceQuotaController,
		names.ClusterRoleAggregationController,
		names.DisruptionController,
		names.EndpointsController,
		names.EndpointSliceController,
	}
}

// resolveControllers returns the full names of controllers, or the default ones if none are given. The error for an
// unknown name lists the known ones.
func resolveControllers(given []string) ([]string, error) {
	if len(given) == 0 {
		return defaultControllers(), nil
	}
	known := controllermanager.KnownControllers()
	resolved := make([]string, 0, len(given))
	for _, name := range given {
		full := strings.TrimSuffix(name, controllerSuffix) + controllerSuffix
		if !slices.Contains(known, full) {
			return nil, fmt.Errorf("unknown controller %q; known are %s", name, strings.Join(known, ", "))
		}
		resolved = append(resolved, full)
	}
	return resolved, nil
}
