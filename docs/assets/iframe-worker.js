// The theme searches in a worker, which a page opened from a file may not start. There, a hidden frame takes its place.
// The theme asks `"IFrameWorker" in parent`, and finds the worker's folder by the one script of the frame.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc =
        "<!doctype html><script>window.postMessage = (data) => parent.postMessage(data, '*');</script>" +
        `<script src="${new URL(url, document.baseURI).href}"></script>`;
      this.frame = frame;
      this.loaded = new Promise((resolve) => frame.addEventListener("load", resolve));
      window.addEventListener("message", ({ source, data }) => {
        if (source === frame.contentWindow) this.dispatchEvent(new MessageEvent("message", { data }));
      });
      document.documentElement.append(frame);
    }

    async postMessage(data) {
      await this.loaded;
      this.frame.contentWindow.dispatchEvent(new this.frame.contentWindow.MessageEvent("message", { data }));
    }

    terminate() {
      this.frame.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
