"""Where the tail of a mail begins, below which no words are a command."""

from __future__ import annotations

import pytest

from domain.control import Command, Ignored, Verb, read
from domain.visible import Place

STOP = Command(verb=Verb.STOP)


@pytest.mark.parametrize(
    "header",
    [
        "On Mon, Jan 1, 2024 at 10:00 AM Ada <ada@example.org> wrote:",
        "On Monday, Ada wrote:",
        "On Mon, Jan 1, 2024 at 10:00 AM Ada Lovelace <\nada@example.org> wrote:",
        "Am 01.01.2024 um 10:00 schrieb Ada <ada@example.org>:",
        "Le lun. 1 janv. 2024 à 10:00, Ada <ada@example.org> a écrit :",
        "El lun, 1 ene 2024 a las 10:00, Ada escribió:",
        "Il giorno lun 1 gen 2024 alle ore 10:00 Ada ha scritto:",
        "Em seg., 1 de jan. de 2024 às 10:00, Ada escreveu:",
        "Op ma 1 jan. 2024 om 10:00 schreef Ada:",
        "Den mån 1 jan. 2024 kl 10:00 skrev Ada:",
        "ma 1. tammik. 2024 klo 10.00 Ada kirjoitti:",
        "pon., 1 sty 2024 o 10:00 Ada napisał(a):",
        "po 1. 1. 2024 v 10:00 Ada napsal(a):",
        "пн, 1 янв. 2024 г. в 10:00, Ada написал(а):",
        "1 Oca 2024 Pzt, 10:00 tarihinde Ada şunu yazdı:",
        "在 2024年1月1日，Ada 写道：",
        "2024年1月1日(月) 10:00 Adaのメール:",
        "2024년 1월 1일 (월) 오전 10:00, Ada님이 작성:",
        "From: Ada\nSent: Monday\nTo: Bob\nSubject: x",
        "**From:** Ada\n**Sent:** Monday",
        "Von: Ada\nGesendet: Montag",
        "De : Ada\nEnvoyé : lundi",
        "________________________________\nFrom: Ada <ada@example.org>\nSent: Monday\nTo: Bob\nSubject: x",
        "-----Original Message-----",
        "-----Ursprüngliche Nachricht-----",
        "-----Message d'origine-----",
        "-----Mensaje original-----",
        "-----Messaggio originale-----",
        "-----Oorspronkelijk bericht-----",
        "-----Mensagem original-----",
        "---------- Forwarded message ---------",
        "-------- Weitergeleitete Nachricht --------",
        "Begin forwarded message:",
        "**Begin forwarded message:**",
        "\u200eBegin forwarded message:\u200e",
        "Begin forwarded message:\n\n> From: Ada",
        "Anfang der weitergeleiteten Nachricht:",
        "Début du message transféré\u00a0:",
        "Début du message réexpédié :",
        "Inicio del mensaje reenviado:",
        "Inizio messaggio inoltrato:",
        "Begin doorgestuurd bericht:",
        "Início da mensagem reencaminhada:",
        "Início da mensagem encaminhada:",
        "—\nReply to this email directly, view it on GitHub<https://github.com/o/r/issues/1>, or unsubscribe.",
        "—\n\nReply to this email directly, [view it on GitHub](https://github.com/o/r/issues/1).",
        "—\nYou are receiving this because you were mentioned.",
        "--\nReply to this email directly or view it on GitHub:",
        "-- \nYou are receiving this because you are subscribed to this thread.",
    ],
)
def test_below_the_header_of_a_mail_nothing_is_a_command(header: str) -> None:
    body = f"Thanks.\n\n{header}\n\nthe-loop stop"
    line = body.count("\n") + 1
    assert read(body).ignored == (Ignored(written="the-loop stop", because=Place.EMAIL_TAIL, line=line),)
    assert read(body).commands == ()


@pytest.mark.parametrize(
    "above",
    [
        pytest.param("On the other hand:", id="no-verb"),
        pytest.param("She wrote:", id="no-opening"),
        pytest.param("```\n-- \n```", id="signature-in-a-fence"),
        pytest.param("---", id="rule"),
        pytest.param("From: the first line of the log", id="one-field"),
        pytest.param("________\nFrom: the first line of the log", id="rule-and-one-field"),
        pytest.param("Begin forwarded message: and then it hangs", id="forwarding-in-prose"),
        pytest.param("We begin forwarded message:", id="forwarding-at-the-end-of-prose"),
        pytest.param("> Begin forwarded message:", id="forwarding-that-is-quoted"),
        pytest.param("---- original idea ----", id="another-title-between-hyphens"),
        pytest.param("—", id="dash-alone"),
        pytest.param("—\nWhy reply to this email directly?", id="dash-above-prose"),
        pytest.param("Reply to this email directly, I say.", id="footer-without-its-dash"),
    ],
)
def test_what_only_resembles_a_mail_header_hides_nothing(above: str) -> None:
    assert read(f"{above}\n\nthe-loop stop").commands == (STOP,)
