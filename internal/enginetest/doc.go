// Package enginetest is what tests of a running engine have in common: the parts that
// an engine is made of, a custom kind for parents, and watches that bring what they have
// late.
//
// # Example
//
//	config := controlplanetest.Config(t)
//	namespace := controlplanetest.Namespace(t, config)
//	definition := enginetest.Definition(t, "things.example.com", "Box", "Namespaced")
//	// create it, and a ConfigMap with a rule for it in namespace
//	e, err := engine.New(enginetest.Options(t, config, namespace))
//	if err != nil {
//		t.Fatal(err)
//	}
//	go func() { done <- e.Run(ctx) }()
//
// Nothing orders what two watches bring, and on a fast machine a test never notices that
// it takes an order for granted. With KANON_TEST_DELAY_WATCHES=1s half of the watches of
// each engine are late by up to that long; see [DelayWatches]. [HoldRequests] has some
// requests wait until the test lets them go, as behind a slow admission webhook.
package enginetest
