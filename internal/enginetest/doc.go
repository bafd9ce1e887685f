// Package enginetest has what tests of a running engine share: the parts of an engine, a custom kind for parents, and
// delayed watches.
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
// Events of two watches come in no fixed order, but a fast machine never shows that a test relies on one. With
// KANON_TEST_DELAY_WATCHES=1s, half of each engine's watches are late by up to one second; see [DelayWatches].
// [HoldRequests] blocks some requests until the test releases them, like a slow admission webhook.
package enginetest
