package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/kwok/kustomize/stage/node/fast"
	podfast "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	kwokconfig "sigs.k8s.io/kwok/pkg/config"
	"sigs.k8s.io/kwok/pkg/kwok/controllers"
	"sigs.k8s.io/kwok/pkg/log"
)

// Settings of kwok.
const (
	// stageParallelism is the number of Pods that change state concurrently.
	stageParallelism = 16
	// podRange is the range of Pod addresses.
	podRange = "10.0.0.1/8"
	// nodeAddress is the address of every fake Node.
	nodeAddress = "10.0.0.1"
)

// newKwokCommand makes the component that simulates the kubelet of every Node: Nodes and Pods become Ready, Pods of
// Jobs complete, and deleted Pods disappear. It uses kwok as a library, because kwok's own command also serves HTTP and
// renews a lease per Node, which are not needed here.
func newKwokCommand() *cobra.Command {
	return clientCommand(kwokName, "Run kwok, which plays the kubelet of fake nodes", func(ctx context.Context, config *rest.Config) error {
		ctx = log.NewContext(ctx, log.NewLogger(os.Stderr, log.LevelWarn))
		controller, err := newKwokController(config)
		if err != nil {
			return err
		}
		if err := controller.Start(ctx); err != nil {
			return fmt.Errorf("start kwok: %w", err)
		}
		<-ctx.Done()
		return nil
	})
}

// newKwokController makes kwok's controller with its default stages. Other kinds than Nodes and Pods would need more
// clients.
func newKwokController(config *rest.Config) (*controllers.Controller, error) {
	stages, err := loadStages(fast.DefaultNodeInit, podfast.DefaultPodReady, podfast.DefaultPodComplete, podfast.DefaultPodDelete)
	if err != nil {
		return nil, err
	}
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	controller, err := controllers.NewController(controllers.Config{
		Clock:                     clock.RealClock{},
		TypedClient:               typed,
		RESTClient:                typed.Discovery().RESTClient(),
		ManageAllNodes:            true,
		CIDR:                      podRange,
		NodeIP:                    nodeAddress,
		LocalStages:               stages,
		PodPlayStageParallelism:   stageParallelism,
		NodePlayStageParallelism:  1,
		PodsOnNodeSyncParallelism: 1,
		ID:                        kwokName,
	})
	if err != nil {
		return nil, fmt.Errorf("make kwok's controller: %w", err)
	}
	return controller, nil
}

// loadStages decodes stages and groups them by the kind they are for.
func loadStages(documents ...string) (map[internalversion.StageResourceRef][]*internalversion.Stage, error) {
	stages := map[internalversion.StageResourceRef][]*internalversion.Stage{}
	for _, document := range documents {
		stage, err := kwokconfig.UnmarshalWithType[*internalversion.Stage](document)
		if err != nil {
			return nil, fmt.Errorf("decode stage: %w", err)
		}
		stages[stage.Spec.ResourceRef] = append(stages[stage.Spec.ResourceRef], stage)
	}
	return stages, nil
}
