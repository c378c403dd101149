package main

import (
	"context"
	"os"
	"os/signal"
)

// interruptible returns a context that the first SIGINT cancels. The second SIGINT ends the process
// immediately. An interrupted command exits with exitInterrupted.
func (c *console) interruptible(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	go func() {
		select {
		case <-signals:
			c.interrupted.Store(true)
		case <-ctx.Done():
		}
		signal.Stop(signals)
		cancel()
	}()
	return ctx, cancel
}
