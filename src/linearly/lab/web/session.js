// Send messages to the session one at a time; of messages that replace each other only the newest.

// Messages after which an animation is shown from its end.
export const RESTARTS = [
  "open", "choose_preset", "choose_algorithm", "restore", "load", "generate", "choose_lesson", "set_option",
];

export class Session {
  constructor(lab, ask) {
    this.lab = lab;
    this.ask = ask;
    this.waiting = new Map();
    this.busy = false;
  }

  // The reply, or null if there was an error, if a newer message of the same kind took this one's place, or if the
  // message is no longer wanted when its turn comes.
  send(message, kind = null, wanted = () => true) {
    return new Promise((resolve) => {
      const key = kind || Symbol("message");
      this.waiting.get(key)?.resolve(null);
      this.waiting.delete(key);
      this.waiting.set(key, { message, resolve, wanted });
      this.pump();
    });
  }

  async pump() {
    if (this.busy || !this.waiting.size) return;
    const [key, { message, resolve, wanted }] = this.waiting.entries().next().value;
    this.waiting.delete(key);
    if (!wanted()) {
      resolve(null);
      this.pump();
      return;
    }
    this.busy = true;
    const started = performance.now();
    let reply;
    try {
      reply = await this.ask(this.addressed(message));
    } catch (error) {
      reply = { error: `No reply from the lab: ${error.message}` };
    }
    this.busy = false;
    if (reply.error) this.lab.notice(reply.error, "error");
    else if (reply.state) this.lab.take(reply, message);
    resolve(reply.error ? null : reply);
    const detail = { do: message.do, ms: performance.now() - started };
    this.lab.root.dispatchEvent(new CustomEvent("linearly:reply", { detail }));
    this.pump();
  }

  // Add the current frame and the shape of the plane to a message that needs them.
  addressed(message) {
    const { atEnd, frame, main } = this.lab, full = { ...message };
    if (!["frame", "columns", "without_point"].includes(message.do) && !RESTARTS.includes(message.do) && !atEnd) full.at = frame;
    if (["open", "choose_preset", "load", "set_view", "generate", "choose_lesson"].includes(message.do) && !message.view && main.height > 2) {
      full.aspect = Math.max(0.3, Math.min(4, main.width / main.height));
    }
    return full;
  }
}
